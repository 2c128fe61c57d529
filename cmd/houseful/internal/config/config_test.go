package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// load runs Load as the command line would: args, variables and the text of a file ("" is no file).
func load(t *testing.T, args, environ []string, file string) (Serve, error) {
	t.Helper()
	config := Default()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	Register(flags, &config)
	if err := flags.Parse(args); err != nil {
		t.Fatalf("parse %q: %v", args, err)
	}
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "houseful.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := Load(flags, environ, path, &config, "server")
	return config, err
}

// Every setting can be said in all three ways, and means the same.
func TestEverySettingInThreeWays(t *testing.T) {
	values := map[string]string{
		"data-dir": "/srv/seats", "http": "localhost:9000", "node-id": "n7", "zone": "rack-2", "shards": "16",
		"cors-origin": "https://a.example,https://b.example", "demo": "true", "test-clock": "true",
		"request-timeout": "2s", "stop-timeout": "3s", "free-space-floor-mib": "512", "snapshot-kib": "1024",
		"log-format": "json", "log-level": "debug", "gomaxprocs": "6", "gc-percent": "150", "peer": "127.0.0.1:7000",
		"join": "127.0.0.1:7000,127.0.0.1:7001", "bootstrap-expect": "3", "replicas": "3",
	}
	untouched := Default()
	count := 0
	for name, s := range settings(&untouched) {
		count++
		text, ok := values[name]
		if !ok {
			t.Errorf("setting %s has no value in this test", name)
			continue
		}
		fromFlag, err := load(t, []string{"--" + name + "=" + text}, nil, "")
		if err != nil {
			t.Fatalf("flag %s: %v", name, err)
		}
		fromVariable, err := load(t, nil, []string{EnvName(name) + "=" + text}, "")
		if err != nil {
			t.Fatalf("variable of %s: %v", name, err)
		}
		fromFile, err := load(t, nil, nil, name+": "+text+"\n")
		if err != nil {
			t.Fatalf("file with %s: %v", name, err)
		}
		if !reflect.DeepEqual(fromFlag, fromVariable) || !reflect.DeepEqual(fromFlag, fromFile) {
			t.Errorf("%s: flag %+v\nvariable %+v\nfile %+v", name, fromFlag, fromVariable, fromFile)
		}
		if got := reflect.ValueOf(fromFlag).FieldByIndex(s.field.Index).Interface(); reflect.DeepEqual(got, s.value.Interface()) {
			t.Errorf("%s: the flag changed nothing: %v", name, got)
		}
		if s.field.Tag.Get("usage") == "" {
			t.Errorf("%s has no usage", name)
		}
	}
	if count != len(values) || count != reflect.TypeFor[Serve]().NumField() {
		t.Errorf("%d settings, %d values, %d fields", count, len(values), reflect.TypeFor[Serve]().NumField())
	}
}

func TestPrecedence(t *testing.T) {
	const file = "shards: 2\nzone: file\nnode-id: file\n"
	environ := []string{"HOUSEFUL_SHARDS=3", "HOUSEFUL_ZONE=variable", "PATH=/bin"}
	config, err := load(t, []string{"--shards", "4"}, environ, file)
	if err != nil {
		t.Fatal(err)
	}
	if config.Shards != 4 || config.Zone != "variable" || config.NodeID != "file" || config.StopTimeout != 30*time.Second {
		t.Errorf("got %+v", config)
	}
	// A flag that says the default still beats what stands behind it.
	config, err = load(t, []string{"--shards", "0"}, environ, file)
	if err != nil || config.Shards != 0 {
		t.Errorf("--shards 0: %d shards, %v", config.Shards, err)
	}
}

func TestListsInTheFile(t *testing.T) {
	config, err := load(t, nil, nil, "cors-origin:\n  - https://a.example\n  - https://b.example\ndemo: true\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"https://a.example", "https://b.example"}; !reflect.DeepEqual(config.CORSOrigins, want) || !config.Demo {
		t.Errorf("got %+v", config)
	}
}

func TestWhatNobodyKnowsIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, file string
		environ    []string
		says       []string
	}{
		{"key", "shard: 3\n", nil, []string{"houseful.yaml", `"shard"`}},
		{"nested", "data:\n  dir: x\n", nil, []string{"not nested"}},
		{"twice", "shards: 1\nshards: 2\n", nil, []string{"[2:1]", "shards"}},
		{"value", "shards: many\n", nil, []string{"shards", `"many"`, "int"}},
		{"no yaml", "shards: [\n", nil, []string{"houseful.yaml"}},
		{"config in the file", "config: other.yaml\n", nil, []string{`"config"`}},
		{"variable", "", []string{"HOUSEFUL_DATADIR=/x"}, []string{"HOUSEFUL_DATADIR"}},
		{"variable's value", "", []string{"HOUSEFUL_DEMO=perhaps"}, []string{"HOUSEFUL_DEMO", `"perhaps"`, "bool"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, nil, c.environ, c.file)
			if !errors.Is(err, ErrSetting) {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not mention %s", err, part)
				}
			}
		})
	}
}

func TestVariablesOfOthersAreLeftAlone(t *testing.T) {
	environ := []string{
		"HOUSEFUL_SERVER=http://127.0.0.1:9", "HOUSEFUL_PORT=tcp://10.0.0.1:80", "HOUSEFUL_PORT_8080_TCP=tcp://10.0.0.1:80",
		"HOUSEFUL_PORT_8080_TCP_ADDR=10.0.0.1", "HOUSEFUL_SERVICE_HOST=10.0.0.1", "HOUSEFUL_SERVICE_PORT_HTTP=80",
	}
	config, err := load(t, nil, environ, "")
	if err != nil {
		t.Fatal(err)
	}
	config.CORSOrigins, config.Join = nil, nil
	if !reflect.DeepEqual(config, Default()) {
		t.Errorf("got %+v", config)
	}
}

func TestValidateSaysWhatToChange(t *testing.T) {
	if err := (&Serve{}).Validate(); err == nil {
		t.Error("an empty configuration passed")
	}
	good := Default()
	if err := good.Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for setting, change := range map[string]func(*Serve){
		"data-dir":             func(c *Serve) { c.DataDir = " " },
		"http":                 func(c *Serve) { c.HTTP = "8080" },
		"node-id":              func(c *Serve) { c.NodeID = "n 1" },
		"zone":                 func(c *Serve) { c.Zone = "a/b" },
		"shards":               func(c *Serve) { c.Shards = -1 },
		"cors-origin":          func(c *Serve) { c.CORSOrigins = []string{"*"} },
		"request-timeout":      func(c *Serve) { c.RequestTimeout = time.Millisecond },
		"stop-timeout":         func(c *Serve) { c.StopTimeout = -1 },
		"free-space-floor-mib": func(c *Serve) { c.FreeSpaceFloorMiB = 0 },
		"snapshot-kib":         func(c *Serve) { c.SnapshotKiB = 0 },
		"log-format":           func(c *Serve) { c.LogFormat = "xml" },
		"log-level":            func(c *Serve) { c.LogLevel = "loud" },
		"gomaxprocs":           func(c *Serve) { c.GoMaxProcs = -1 },
		"gc-percent":           func(c *Serve) { c.GCPercent = -1 },
		"peer":                 func(c *Serve) { c.Peer = "127.0.0.1:7000" },
		"join":                 func(c *Serve) { c.Join = []string{"127.0.0.1:7000"} },
		"bootstrap-expect":     func(c *Serve) { c.BootstrapExpect = 3 },
		"replicas":             func(c *Serve) { c.Replicas = 3 },
	} {
		config := Default()
		change(&config)
		if err := config.Validate(); err == nil || !strings.HasPrefix(err.Error(), setting+":") {
			t.Errorf("%s: got %v", setting, err)
		}
	}
}

// Without keys a port that others can reach would be open to them.
func TestOnlyLoopbackWithoutKeys(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:8080": true, "127.0.0.1:0": true, "localhost:80": true, "[::1]:8080": true, "127.9.9.9:1": true,
		"0.0.0.0:8080": false, ":8080": false, "[::]:80": false, "192.168.1.5:80": false, "tickets.example:80": false,
		"127.0.0.1": false, "127.0.0.1:": false, "127.0.0.1:99999": false, "127.0.0.1:x y": false,
	} {
		config := Default()
		config.HTTP = address
		if err := config.Validate(); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestProcs(t *testing.T) {
	config := Default()
	if config.Procs() < ProcsMin {
		t.Errorf("%d threads by default", config.Procs())
	}
	config.GoMaxProcs = 1
	if config.Procs() != 1 {
		t.Errorf("%d threads, 1 asked for", config.Procs())
	}
}
