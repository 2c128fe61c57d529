package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Wrong command lines exit with 2, say what is wrong and show the usage; nothing goes to stdout.
func TestWrongCommandLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "houseful.yaml")
	if err := os.WriteFile(file, []byte("colour: blue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		args    []string
		environ []string
		says    string
	}{
		{"nothing", nil, nil, "houseful serve"},
		{"unknown command", []string{"sell"}, nil, `unknown command "sell"`},
		{"unknown flag", []string{"serve", "--colour", "blue"}, nil, "--colour"},
		{"no value", []string{"serve", "--shards"}, nil, "--shards"},
		{"wrong value", []string{"serve", "--shards", "many"}, nil, "many"},
		{"argument too many", []string{"serve", "now"}, nil, `"now"`},
		{"value out of range", []string{"serve", "--shards", "-1"}, nil, "shards: -1"},
		{"not loopback", []string{"serve", "--http", "0.0.0.0:8080"}, nil, "listen on 127.0.0.1"},
		{"join", []string{"serve", "--join", "a:1,b:2"}, nil, "join: this version runs one node"},
		{"peer", []string{"serve", "--peer", "127.0.0.1:7000"}, nil, "peer: this version"},
		{"bootstrap-expect", []string{"serve", "--bootstrap-expect", "3"}, nil, "bootstrap-expect: this version"},
		{"replicas", []string{"serve", "--replicas", "3"}, nil, "replicas: this version"},
		{"unknown variable", []string{"serve"}, []string{"HOUSEFUL_COLOUR=blue"}, "HOUSEFUL_COLOUR"},
		{"unknown key", []string{"serve", "--config", file}, nil, `"colour"`},
		{"no file", []string{"serve", "--config", file + "x"}, nil, "houseful.yamlx"},
		{"load without a file", []string{"load"}, nil, "1 arg"},
		{"show what", []string{"show"}, nil, "list, seats or audit"},
		{"seats of what", []string{"show", "seats"}, nil, "1 arg"},
		{"server", []string{"audit", "--server", "localhost"}, nil, "server:"},
		{"server by variable", []string{"audit"}, []string{"HOUSEFUL_SERVER=localhost"}, "server:"},
		{"timeout", []string{"audit", "--timeout", "0s"}, nil, "timeout:"},
		{"date", []string{"show", "list", "--date", "today"}, nil, "date:"},
		{"days", []string{"show", "list", "--days", "0"}, nil, "days:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := runWith(t, c.environ, c.args...)
			if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "houseful: ") ||
				!strings.Contains(stderr, c.says) || !strings.Contains(stderr, "Usage:") {
				t.Errorf("exit %d\nstdout %s\nstderr %s", code, stdout, stderr)
			}
		})
	}
}

// A command that was called the right way and fails exits with 1, without the usage.
func TestFailures(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := listener.Addr().String()
	t.Cleanup(func() { listener.Close() })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := free.Addr().String()
	free.Close()
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"port taken", []string{"serve", "--http", taken, "--data-dir", t.TempDir()}, "give another --http"},
		{"no server", []string{"show", "list", "--server", "http://" + nobody}, "is it running"},
		{"no file", []string{"load", filepath.Join(t.TempDir(), "c.yaml")}, "c.yaml: no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := runHere(t, c.args...)
			if code != exitFailed || stdout != "" || !strings.Contains(stderr, c.says) || strings.Contains(stderr, "Usage:") {
				t.Errorf("exit %d\nstdout %s\nstderr %s", code, stdout, stderr)
			}
		})
	}
}

// The help shows what this version can do and nothing else.
func TestHelp(t *testing.T) {
	code, stdout, _ := runHere(t, "serve", "--help")
	if code != exitOK {
		t.Errorf("exit %d", code)
	}
	for _, flag := range []string{"--data-dir", "--http", "--node-id", "--zone", "--shards", "--cors-origin", "--demo", "--test-clock", "--config"} {
		if !strings.Contains(stdout, flag) {
			t.Errorf("no %s in the help", flag)
		}
	}
	for _, flag := range []string{"--join", "--peer", "--bootstrap-expect", "--replicas"} {
		if strings.Contains(stdout, flag) {
			t.Errorf("%s is in the help", flag)
		}
	}
}

func TestVersion(t *testing.T) {
	code, stdout, _ := runHere(t, "version")
	if code != exitOK || !strings.HasPrefix(stdout, "houseful ") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	code, stdout, _ = runHere(t, "version", "--json")
	var version buildVersion
	if err := json.Unmarshal([]byte(stdout), &version); code != exitOK || err != nil || version.Go == "" {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

func TestMoney(t *testing.T) {
	for _, c := range []struct {
		amount   int64
		currency string
		want     string
	}{{19500, "INR", "195.00 INR"}, {5, "GBP", "0.05 GBP"}, {0, "GBP", "0.00 GBP"}, {700, "JPY", "700 JPY"}, {1500, "KWD", "1.500 KWD"}} {
		if got := money(c.amount, c.currency); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.amount, c.currency, got, c.want)
		}
	}
}
