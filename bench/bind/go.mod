module gpuctl.dev/bind-bench

go 1.26.0
