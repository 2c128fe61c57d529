package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/houseful/houseful/cmd/houseful/internal/config"
)

// asHouseful makes this test program be the houseful command, so that tests run the real thing in a process of its own.
const asHouseful = "BE_THE_HOUSEFUL_COMMAND"

// patience is how long tests wait for what should happen at once, on a machine that is busy with other tests.
const patience = 60 * time.Second

// pollEvery is how often tests look again for what should happen soon.
const pollEvery = 20 * time.Millisecond

func TestMain(m *testing.M) {
	if os.Getenv(asHouseful) != "" {
		main()
	}
	os.Exit(m.Run())
}

// runHere runs a command line in this process and gives what it printed.
func runHere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runWith(t, nil, args...)
}

// runWith is runHere with environment variables.
func runWith(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, err bytes.Buffer
	code = run(ctx, process{Args: args, Environ: environ, Stdout: &out, Stderr: &err})
	return code, out.String(), err.String()
}

// child is a server in a process of its own.
type child struct {
	t       *testing.T
	command *exec.Cmd
	address string // http://127.0.0.1:port

	mu    sync.Mutex // guards log and wakes those who wait for it
	wake  *sync.Cond
	log   []map[string]any
	ended bool // the log is complete
}

// startServer starts "houseful serve" on a free port and waits until it is ready. The server is killed when the test
// ends, if it still runs.
func startServer(t *testing.T, dataDir string, args ...string) *child {
	t.Helper()
	c := spawn(t, append([]string{"serve", "--data-dir", dataDir, "--http", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	c.address, _ = c.waitFor("listening")["http"].(string)
	c.waitFor("node is ready")
	return c
}

// spawn starts the command with its log being read.
func spawn(t *testing.T, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, command: exec.Command(self, args...)}
	c.wake = sync.NewCond(&c.mu)
	// What steers the tests (HOUSEFUL_SEED and the like) is no setting of a server.
	ours := func(variable string) bool { return strings.HasPrefix(variable, config.EnvPrefix) }
	c.command.Env = append(slices.DeleteFunc(os.Environ(), ours), asHouseful+"=1")
	stderr, err := c.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.readLog(stderr)
	}()
	t.Cleanup(func() {
		_ = c.command.Process.Kill() // it may have ended long ago
		<-read
		_ = c.command.Wait()
		if t.Failed() {
			t.Logf("log of %s:\n%s", strings.Join(args, " "), c.logText())
		}
	})
	return c
}

func (c *child) readLog(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		entry := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			entry["text"] = lines.Text()
		}
		c.mu.Lock()
		c.log = append(c.log, entry)
		c.wake.Broadcast()
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.ended = true
	c.wake.Broadcast()
	c.mu.Unlock()
}

// waitFor waits for a log entry whose message starts with msg.
func (c *child) waitFor(msg string) map[string]any {
	c.t.Helper()
	timeout := time.AfterFunc(patience, func() {
		c.mu.Lock()
		c.ended = true
		c.wake.Broadcast()
		c.mu.Unlock()
	})
	defer timeout.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for seen := 0; ; {
		for ; seen < len(c.log); seen++ {
			if text, _ := c.log[seen]["msg"].(string); strings.HasPrefix(text, msg) {
				return c.log[seen]
			}
		}
		if c.ended {
			c.t.Fatalf("the server did not log %q", msg)
		}
		c.wake.Wait()
	}
}

// logged gives the log entries so far whose message is msg.
func (c *child) logged(msg string) (entries []map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, entry := range c.log {
		if entry["msg"] == msg {
			entries = append(entries, entry)
		}
	}
	return entries
}

func (c *child) logText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, entry := range c.log {
		text, _ := json.Marshal(entry)
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// signal sends a signal to this one process.
func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.command.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// exitCode waits until the process has ended. A signal that ended it gives -1.
func (c *child) exitCode() int {
	c.t.Helper()
	c.mu.Lock()
	timeout := time.AfterFunc(patience, func() { _ = c.command.Process.Kill() })
	for !c.ended {
		c.wake.Wait()
	}
	c.mu.Unlock()
	defer timeout.Stop()
	err := c.command.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return c.command.ProcessState.ExitCode()
}

// stop ends the server the gentle way.
func (c *child) stop() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
	if code := c.exitCode(); code != exitOK {
		c.t.Fatalf("exit code %d after SIGTERM", code)
	}
}

// call sends a request and gives status and decoded body; an error is one of the connection.
func (c *child) call(method, path, body string, header ...string) (int, map[string]any, error) {
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.address+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer := map[string]any{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil && !errors.Is(err, io.EOF) {
		return response.StatusCode, nil, err
	}
	return response.StatusCode, answer, nil
}

// must is call with the status that is expected.
func (c *child) must(status int, method, path, body string, header ...string) map[string]any {
	c.t.Helper()
	got, answer, err := c.call(method, path, body, header...)
	if err != nil || got != status {
		c.t.Fatalf("%s %s: %d %v, %v; want %d", method, path, got, answer, err, status)
	}
	return answer
}
