package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// The fake kubelets, started as their own program is: its flags are read twice, first those that
// say where the configuration is. Returns the exit code.
func runKwok() int {
	flags := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		fmt.Fprintf(os.Stderr, "kube kwok: read the configuration: %v\n", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	command.Version = "" // else its --version meets that of Kubernetes, which is no boolean
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "kube kwok: %v\n", err)
		return 1
	}
	return 0
}
