package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/valyala/fasthttp"
)

const (
	// echoCommand is the hidden command that makes this binary an echo.
	echoCommand = "echo"
	// echoListenerFD is the file descriptor of the listener that the echo inherits: the first after the standard three.
	echoListenerFD = 3
)

// echo is an empty fasthttp server in a process of its own, as the real server is.
type echo struct {
	address string
	child   *child
}

// startEcho starts an echo with the given answers. It accepts connections from the start: the listener is made here.
func startEcho(answers []echoAnswer) (*echo, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the echo: %w", err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return nil, fmt.Errorf("starting the echo: %w", err)
	}
	defer file.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting the echo: %w", err)
	}
	command := exec.Command(self, echoCommand)
	command.ExtraFiles = []*os.File{file}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the echo: %w", err)
	}
	process, err := startChild("echo", command)
	if err != nil {
		return nil, err
	}
	process.ask = stdin.Close // also when this process dies, without a word
	e := &echo{address: listener.Addr().String(), child: process}
	if err := json.NewEncoder(stdin).Encode(answers); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the echo: %w", err), e.stop())
	}
	return e, nil
}

// stop ends the process.
func (e *echo) stop() error { return e.child.stop(echoStopGrace) }

// serveEcho is the process: it reads the answers from stdin, and serves them until stdin or ctx ends.
func serveEcho(ctx context.Context, stdin io.Reader) error {
	listener, err := net.FileListener(os.NewFile(echoListenerFD, "listener"))
	if err != nil {
		return fmt.Errorf("the echo is started by the benchmark, which hands it a listener: %w", err)
	}
	var answers []echoAnswer
	input := json.NewDecoder(stdin)
	if err := input.Decode(&answers); err != nil {
		return fmt.Errorf("reading the echo's answers: %w", err)
	}
	server := newEchoServer(answers)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ended := make(chan struct{})
	go func() { // ends with stdin; when ctx is first, with the process
		_, _ = io.Copy(io.Discard, stdin)
		close(ended)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("the echo stopped serving: %w", err)
	case <-ended:
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), echoStopGrace/2)
	defer cancel()
	_ = server.ShutdownWithContext(stopping) // connections that are still open end with the process
	return nil
}

// newEchoServer makes a server that does what any fasthttp server must, and nothing else: the answers are ready.
func newEchoServer(answers []echoAnswer) *fasthttp.Server {
	server := &fasthttp.Server{NoDefaultServerHeader: true}
	for _, answer := range answers {
		server.NoDefaultDate = server.NoDefaultDate || answer.NoDate
		server.NoDefaultContentType = server.NoDefaultContentType || answer.NoType
	}
	handlers := make([]fasthttp.RequestHandler, len(answers))
	for i := range answers {
		handlers[i] = newEchoHandler(&answers[i])
	}
	if len(handlers) == 1 {
		server.Handler = handlers[0]
		return server
	}
	suffixes := make([][]byte, len(answers))
	for i := range answers {
		suffixes[i] = []byte(answers[i].PathSuffix)
	}
	server.Handler = func(ctx *fasthttp.RequestCtx) {
		path := ctx.Path()
		for i, suffix := range suffixes {
			if bytes.HasSuffix(path, suffix) {
				handlers[i](ctx)
				return
			}
		}
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	}
	return server
}

// newEchoHandler gives one answer, without copying its body.
func newEchoHandler(answer *echoAnswer) fasthttp.RequestHandler {
	type header struct{ key, value []byte }
	var headers []header
	for _, h := range answer.Headers {
		headers = append(headers, header{key: []byte(h[0]), value: []byte(h[1])})
	}
	return func(ctx *fasthttp.RequestCtx) {
		ctx.Response.SetStatusCode(answer.Status)
		for _, h := range headers {
			ctx.Response.Header.SetCanonical(h.key, h.value)
		}
		ctx.Response.SetBodyRaw(answer.Body)
	}
}
