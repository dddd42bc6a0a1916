// The neutral parts of the bind bench (tools/bench-bind): makes nodes and pods, watches when pods get
// bound, measures the time from create to bound, and is the bare probe: a client that posts bindings
// thought out beforehand, as fast as the API server takes them. JSON over net/http and nothing else.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

const namespace = "bench"

var (
	server      = flag.String("server", "", "https://127.0.0.1:PORT")
	token       = flag.String("token", "", "bearer token")
	caFile      = flag.String("ca", "", "certificate authority")
	count       = flag.Int("count", 1000, "nodes, pods or trials")
	gpus        = flag.Int("gpus", 8, "GPUs of a node")
	gang        = flag.Int("gang", 0, "pods of a gang; 0: none")
	scheduler   = flag.String("scheduler", "gpuctl", "schedulerName of the pods; empty in `latency`: the probe binds itself")
	inFlight    = flag.Int("in-flight", 32, "requests at a time")
	http2       = flag.Bool("http2", false, "one HTTP/2 connection instead of HTTP/1.1 ones")
	pauseMillis = flag.Int("pause-ms", 20, "idle time before each trial of `latency`")
	deadline    = flag.Duration("deadline", 5*time.Minute, "give up after")
)

func die(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "bind-bench: "+format+"\n", values...)
	os.Exit(1)
}

func newClient(connections int) *http.Client {
	pem, err := os.ReadFile(*caFile)
	if err != nil {
		die("reading the certificate authority: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2:   *http2,
		MaxIdleConnsPerHost: connections,
		MaxConnsPerHost:     connections,
		DisableCompression:  true,
	}}
}

func request(client *http.Client, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequest(method, *server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+*token)
	req.Header.Set("Accept", "application/json")
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	return client.Do(req)
}

// call is one exchange that must succeed; the body is read to its end so that the connection is kept.
func call(client *http.Client, method, path string, body []byte) []byte {
	answer, err := request(client, method, path, body)
	if err != nil {
		die("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		die("%s %s: %v", method, path, err)
	}
	if answer.StatusCode >= 300 {
		die("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	return text
}

// inParallel runs work(0..n-1) on n workers.
func inParallel(n, workers int, work func(client *http.Client, index int)) {
	client := newClient(workers)
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				index := int(next.Add(1)) - 1
				if index >= n {
					return
				}
				work(client, index)
			}
		})
	}
	group.Wait()
}

func nodeName(index int) string { return fmt.Sprintf("node-%05d", index) }

// makeNodes: static, Ready, without a kubelet behind them, so that nothing but the contender works.
func makeNodes() {
	now := time.Now().UTC().Format(time.RFC3339)
	inParallel(*count, *inFlight, func(client *http.Client, index int) {
		name := nodeName(index)
		amount := fmt.Sprintf(`{"cpu":"64","memory":"512Gi","pods":"110","nvidia.com/gpu":"%d"}`, *gpus)
		call(client, "POST", "/api/v1/nodes", fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,`+
			`"labels":{"kubernetes.io/hostname":%q,"kubernetes.io/os":"linux","kubernetes.io/arch":"amd64"}},`+
			`"status":{"capacity":%s,"allocatable":%s,"conditions":[{"type":"Ready","status":"True","reason":"Bench",`+
			`"lastHeartbeatTime":%q,"lastTransitionTime":%q}]}}`, name, name, amount, amount, now, now))
	})
}

func podBody(name string) []byte {
	labels := `"app":"bench"`
	annotations := ""
	if *gang > 0 {
		var index int
		fmt.Sscanf(name, "pod-%d", &index)
		labels += fmt.Sprintf(`,"runwhere.ai/gang":"gang-%04d"`, index / *gang)
		annotations = fmt.Sprintf(`,"annotations":{"runwhere.ai/gang-min":"%d"}`, *gang)
	}
	schedulerName := *scheduler
	if schedulerName == "" {
		schedulerName = "nobody"
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{%s}%s},"spec":{"schedulerName":%q,`+
		`"terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"bench","resources":{`+
		`"requests":{"cpu":"1","memory":"1Gi","nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"1"}}}]}}`,
		name, labels, annotations, schedulerName)
}

func makePods() {
	inParallel(*count, *inFlight, func(client *http.Client, index int) {
		call(client, "POST", "/api/v1/namespaces/"+namespace+"/pods", podBody(fmt.Sprintf("pod-%05d", index)))
	})
}

func bindingBody(pod, node string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Binding","metadata":{"name":%q,"namespace":%q},`+
		`"target":{"apiVersion":"v1","kind":"Node","name":%q}}`, pod, namespace, node)
}

func bind(client *http.Client, pod, node string) {
	call(client, "POST", "/api/v1/namespaces/"+namespace+"/pods/"+pod+"/binding", bindingBody(pod, node))
}

func probe() {
	inParallel(*count, *inFlight, func(client *http.Client, index int) {
		bind(client, fmt.Sprintf("pod-%05d", index), nodeName(index / *gpus))
	})
}

// between returns what is between two marks in a line of a watch; the events are not decoded, so
// that the watcher costs next to nothing.
func between(line []byte, before, after string) string {
	start := bytes.Index(line, []byte(before))
	if start < 0 {
		return ""
	}
	start += len(before)
	length := bytes.Index(line[start:], []byte(after))
	if length < 0 {
		return ""
	}
	return string(line[start : start+length])
}

// watchBound calls seen(pod) once for each pod of the namespace that has a node, until it says stop.
func watchBound(ready func(), seen func(pod string) bool) {
	client := newClient(2)
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(call(client, "GET", "/api/v1/namespaces/"+namespace+"/pods?limit=1", nil), &list); err != nil {
		die("listing pods: %v", err)
	}
	known := map[string]bool{}
	version := list.Metadata.ResourceVersion
	for attempt := range 100 { // the API server may end a watch at any time; the next one continues where it stopped
		answer, err := request(client, "GET", "/api/v1/namespaces/"+namespace+
			"/pods?watch=1&timeoutSeconds=3600&resourceVersion="+version, nil)
		if err != nil || answer.StatusCode != 200 {
			die("watching pods: %v %v", err, answer)
		}
		if attempt == 0 {
			ready()
		}
		reader := bufio.NewReaderSize(answer.Body, 1<<20)
		for {
			line, err := reader.ReadSlice('\n')
			if err == io.EOF {
				break
			}
			if err != nil || bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)) {
				die("the watch ended: %v %s", err, line)
			}
			version = between(line, `"resourceVersion":"`, `"`)
			if between(line, `"nodeName":"`, `"`) == "" {
				continue
			}
			pod := between(line, `"metadata":{"name":"`, `"`)
			if pod == "" || known[pod] {
				continue
			}
			known[pod] = true
			if seen(pod) {
				return
			}
		}
		answer.Body.Close()
	}
	die("the watch ended a hundred times")
}

// watch prints "watching", then, once `count` pods are bound, when the first and each tenth part was.
func watch() {
	var first, last time.Time
	number := 0
	watchBound(func() { fmt.Println("watching") }, func(string) bool {
		last = time.Now()
		if number == 0 {
			first = last
		}
		number++
		return number >= *count
	})
	seconds := last.Sub(first).Seconds()
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"bound": number, "seconds": seconds, "per_second": float64(number-1) / seconds,
		"first_ns": first.UnixNano(), "last_ns": last.UnixNano(),
	})
}

// latency creates one pod at a time on an idle cluster and measures from before the create until the
// watch shows its node. With --scheduler= the probe binds the pod itself: the chain without a decision.
func latency() {
	bound := make(chan string, 64)
	ready := make(chan bool)
	go watchBound(func() { close(ready) }, func(pod string) bool { bound <- pod; return false })
	<-ready
	client := newClient(2)
	var samples []float64
	for trial := range *count {
		time.Sleep(time.Duration(*pauseMillis) * time.Millisecond)
		pod := fmt.Sprintf("one-%05d", trial)
		began := time.Now()
		call(client, "POST", "/api/v1/namespaces/"+namespace+"/pods", podBody(pod))
		if *scheduler == "" {
			bind(client, pod, nodeName(trial%8))
		}
		for {
			select {
			case name := <-bound:
				if name != pod {
					continue
				}
			case <-time.After(*deadline):
				die("%s was not bound within %s", pod, *deadline)
			}
			break
		}
		samples = append(samples, float64(time.Since(began).Microseconds())/1000)
	}
	sort.Float64s(samples)
	at := func(share float64) float64 { return samples[int(share*float64(len(samples)-1))] }
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"trials": len(samples), "p50_ms": at(0.50), "p90_ms": at(0.90), "p99_ms": at(0.99), "max_ms": at(1),
	})
}

func main() {
	if len(os.Args) < 2 {
		die("usage: bind-bench nodes|pods|probe|watch|latency [flags]")
	}
	verb := os.Args[1]
	if err := flag.CommandLine.Parse(os.Args[2:]); err != nil {
		die("%v", err)
	}
	time.AfterFunc(*deadline, func() { die("%s was not done within %s", verb, *deadline) })
	verbs := map[string]func(){"nodes": makeNodes, "pods": makePods, "probe": probe, "watch": watch, "latency": latency}
	work, known := verbs[verb]
	if !known {
		die("no verb %q", verb)
	}
	work()
}
