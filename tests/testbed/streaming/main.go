// The part of a kubelet that an API server asks for exec, attach, port-forward and logs, with Kubernetes' own code for
// its protocols (k8s.io/cri-streaming). A command of a pod is a process of this machine; attach is a process that
// writes what it reads and how large its terminal is; a port of a pod is that port of 127.0.0.1. KWOK's does not pass
// on the end of the input, reports exit codes as failures and leaves the far end of a forwarded port open.
//
//	streaming -certificate FILE -key FILE -folder FOLDER [-path PATH]
//
// writes its port as the first line. FOLDER is the working directory of commands; PATH is where they are found.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idle     = 4 * time.Hour // the kubelet's own
	creation = 30 * time.Second
	// As containerd: once one direction has ended, the other one may end by itself for so long.
	lastBytes = time.Second
)

type pods struct {
	folder string
}

// ExecInContainer runs until the command has ended, or what it writes can no longer be sent.
func (p *pods) ExecInContainer(ctx context.Context, _, _, _ string, words []string, in io.Reader, out,
	err io.WriteCloser, tty bool, sizes <-chan remotecommand.TerminalSize, _ time.Duration) error {
	command := exec.Command(words[0], words[1:]...)
	command.Dir = p.folder
	var failed error
	if tty {
		failed = runInTerminal(ctx, command, in, out, sizes)
	} else {
		failed = run(ctx, command, in, out, err)
	}
	if exit, ok := failed.(*exec.ExitError); ok {
		code := exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal())
		}
		return utilexec.CodeExitError{Err: failed, Code: code}
	}
	return failed
}

func run(ctx context.Context, command *exec.Cmd, in io.Reader, out, err io.Writer) error {
	if out != nil {
		command.Stdout = out
	}
	if err != nil {
		command.Stderr = err
	}
	if in == nil {
		return wait(ctx, command, command.Start())
	}
	// Not command.Stdin: Wait() would wait for input that is no longer read.
	pipe, failed := command.StdinPipe()
	if failed != nil {
		return failed
	}
	failed = command.Start()
	if failed == nil {
		go func() {
			_, _ = io.Copy(pipe, in)
			_ = pipe.Close()
		}()
	}
	return wait(ctx, command, failed)
}

func wait(ctx context.Context, command *exec.Cmd, started error) error {
	if started != nil {
		return started
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-ctx.Done():
			_ = command.Process.Kill()
		case <-over:
		}
	}()
	return command.Wait()
}

func runInTerminal(ctx context.Context, command *exec.Cmd, in io.Reader, out io.Writer,
	sizes <-chan remotecommand.TerminalSize) error {
	ours, inside, err := openTerminal()
	if err != nil {
		return err
	}
	defer ours.Close()
	command.Stdin, command.Stdout, command.Stderr = inside, inside, inside
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	go func() {
		for size := range sizes {
			resize(ours, size.Width, size.Height)
		}
	}()
	err = command.Start()
	inside.Close()
	if err != nil {
		return err
	}
	if in != nil {
		go func() { _, _ = io.Copy(ours, in) }()
	}
	shown := make(chan struct{})
	go func() {
		_, _ = io.Copy(out, ours) // ends with an error when the last process has closed the terminal
		close(shown)
	}()
	err = wait(ctx, command, nil)
	select {
	case <-shown:
	case <-time.After(lastBytes):
	}
	return err
}

// AttachContainer: the main process of every pod repeats its input.
func (p *pods) AttachContainer(ctx context.Context, name, uid, container string, in io.Reader, out,
	err io.WriteCloser, tty bool, sizes <-chan remotecommand.TerminalSize) error {
	words := []string{"sh", "-c", "echo attached; echo 'to errors' >&2; cat"}
	if in == nil {
		words[2] = "echo attached; echo 'to errors' >&2; sleep 1"
	}
	return p.ExecInContainer(ctx, name, uid, container, words, in, out, err, tty, sizes, 0)
}

// PortForward copies as containerd does.
func (p *pods) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("failed to connect to localhost:%d inside the pod: %w", port, err)
	}
	defer connection.Close()
	ended := make(chan error, 2)
	go func() { _, err := io.Copy(stream, connection); ended <- err }()
	go func() { _, err := io.Copy(connection, stream); ended <- err }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-ended:
	case <-time.After(lastBytes):
	}
	return err
}

// /exec/NAMESPACE/POD/CONTAINER, and so on.
func (p *pods) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	verb := parts[0]
	switch {
	case verb == "exec" && len(parts) == 4, verb == "attach" && len(parts) == 4:
		// The API server says input, output, error, tty; so do the names of these options.
		options, err := remotecommand.NewOptions(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		name := parts[1] + "/" + parts[2]
		if verb == "attach" {
			remotecommand.ServeAttach(w, req, p, name, "", parts[3], options, idle, creation,
				remotecommand.SupportedStreamingProtocols)
			return
		}
		remotecommand.ServeExec(w, req, p, name, "", parts[3], req.URL.Query()["command"], options, idle, creation,
			remotecommand.SupportedStreamingProtocols)
	case verb == "portForward" && len(parts) == 3:
		options, err := portforward.NewV4Options(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, req, p, parts[1]+"/"+parts[2], "", options, idle, creation,
			portforward.SupportedProtocols)
	default:
		http.NotFound(w, req)
	}
}

func main() {
	certificate := flag.String("certificate", "", "file of the certificate")
	key := flag.String("key", "", "file of its key")
	folder := flag.String("folder", ".", "working directory of commands")
	path := flag.String("path", "", "PATH of commands")
	flag.Parse()
	if *path != "" {
		os.Setenv("PATH", *path) // commands are looked up in it as well
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: &pods{folder: *folder}, ReadHeaderTimeout: creation}
	log.Fatal(server.ServeTLS(listener, *certificate, *key))
}
