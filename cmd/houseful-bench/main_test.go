package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongFlagsExit2(t *testing.T) {
	for _, args := range []string{
		"--no-such-flag", "--connections x", "--connections 0", "--connections 1000000", "--duration 0s", "--duration 24h",
		"--duration 1s --rounds 100", "--rounds 0", "--rate -1", "--rate NaN", "--workload nothing", "--workload=", "extra",
		"--seats 11", "--shows 0", "--show-seats 1", "--hot-seats 100001", "--start --server http://127.0.0.1:1",
		"--houseful x", "--server-arg x", "--warmup 1h", "--server ftp://127.0.0.1", "--server http://127.0.0.1/path",
		"--server http://192.0.2.1:8080", "--server http://[2001:db8::1]:8080", "echo extra",
	} {
		t.Run(args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := runMain(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr)
			if code != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "wrong usage") {
				t.Errorf("exit %d, stdout %q, stderr %q", code, &stdout, &stderr)
			}
		})
	}
}

func TestHelpExits0(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := runMain(t.Context(), []string{"--help"}, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	for _, name := range append(workloadNames(), "--allow-remote", "--json") {
		if !strings.Contains(stdout.String(), name) {
			t.Errorf("the help does not name %s", name)
		}
	}
	if strings.Contains(stdout.String(), "inherited listener") {
		t.Error("the help shows the hidden command")
	}
}

// TestRunFails with 1 when the flags are right and the server is not.
func TestRunFails(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := []string{"--start", "--houseful", "/no/such/file", "--dir", t.TempDir()}
	if code := runMain(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "starting the server") {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), self, echoCommand).CombinedOutput(); err == nil || !bytes.Contains(output, []byte("started by the benchmark")) {
		t.Errorf("the echo without a listener: %v: %s", err, output)
	}
}

// TestStartsServer starts a server, measures it, ends it and leaves nothing behind.
func TestStartsServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	args := []string{
		"--start", "--houseful", self, "--dir", folder, "--connections", "2", "--duration", "100ms", "--rounds", "1",
		"--warmup", "0s", "--shows", "2", "--json",
	}
	var stdout, stderr bytes.Buffer
	if code := runMain(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	stderr.Reset()
	args = append(args, "--server-arg", "--broken")
	code := runMain(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "exit status 3") || !strings.Contains(stderr.String(), "no room at the inn") {
		t.Errorf("a server that ends at once: exit %d: %s", code, &stderr)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestWholeRun runs every workload against a fake of the server, with an echo in a process of its own.
func TestWholeRun(t *testing.T) {
	fake := startFake(t)
	testWholeRun(t, "--server", "http://"+fake.address)
	if len(fake.keys) == 0 {
		t.Error("no idempotency key arrived")
	}
}

// TestWholeRunOnHouseful does the same with the real server.
func TestWholeRunOnHouseful(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "houseful")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, serverPackage).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	testWholeRun(t, "--start", "--houseful", binary)
}

// testWholeRun runs every workload on a server and checks that nothing was refused and that the echo is its like.
func testWholeRun(t *testing.T, server ...string) {
	args := append(server, "--workload", strings.Join(workloadNames(), ",")+",spread", "--connections", "8",
		"--duration", "200ms", "--rounds", "2", "--warmup", "20ms", "--shows", "4", "--hot-seats", "2000", "--dir", t.TempDir(),
		"--idempotency-keys", "--json")
	var stdout, stderr bytes.Buffer
	if code := runMain(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Workloads) != len(workloadNames()) {
		t.Fatalf("%d workloads", len(r.Workloads))
	}
	for _, w := range r.Workloads {
		for _, s := range []*sideReport{w.Houseful, w.Echo} {
			if s.DonePerSecond == 0 || s.Outcomes.others() != 0 || len(s.RoundsPerSecond) != 2 || s.Steps[0].Latencies.P50 <= 0 {
				t.Errorf("%s: %+v, outcomes %+v", w.Name, s, s.Outcomes)
			}
		}
		if difference := w.Houseful.AnswerBytesMean - w.Echo.AnswerBytesMean; math.Abs(difference) > echoBytesTolerance {
			t.Errorf("%s: answers of %.1f bytes, echoed %.1f", w.Name, w.Houseful.AnswerBytesMean, w.Echo.AnswerBytesMean)
		}
		if len(w.Ratio.Rounds) != 2 || w.Ratio.Median <= 0 {
			t.Errorf("%s: ratio %+v", w.Name, w.Ratio)
		}
		wantStatus := map[string]int{workloadSeats: 200, workloadSeatsETag: 304, workloadDelta: 200, workloadHoldConfirm: 200}[w.Name]
		if wantStatus != 0 && (w.Houseful.Outcomes.Statuses[wantStatus] == 0 || w.Echo.Outcomes.Statuses[wantStatus] == 0) {
			t.Errorf("%s: statuses %v, echoed %v", w.Name, w.Houseful.Outcomes.Statuses, w.Echo.Outcomes.Statuses)
		}
	}
	if idle := r.find(workloadIdle); idle.Idle == nil || idle.Idle.Fsync.Count == 0 || idle.Connections != 1 {
		t.Errorf("idle: %+v", idle.Idle)
	}
	if len(r.Comparisons) != 1 || len(r.Comparisons[0].Ratio.Rounds) != 2 {
		t.Errorf("%+v", r.Comparisons)
	}
}

// echoBytesTolerance is how much an answer's mean length may change in a run: versions grow by a few digits.
const echoBytesTolerance = 8

// TestTextReport shows refusals, unknown outcomes and the rate of an open loop to a person.
func TestTextReport(t *testing.T) {
	fake := startFake(t)
	args := []string{
		"--server", "http://" + fake.address, "--connections", "2", "--rate", "500", "--duration", "200ms", "--rounds", "1",
		"--warmup", "0s", "--shows", "2",
	}
	// The samples come first, and want to be granted; the test's refusals are for the measured part.
	started := make(chan struct{})
	go func() {
		defer close(started)
		for deadline := t.Context(); deadline.Err() == nil; {
			fake.mutex.Lock()
			sampled := len(fake.bookings) >= samplesPerStep
			fake.mutex.Unlock()
			if sampled {
				fake.refuse.Store(5)
				fake.expired.Store(3)
				return
			}
		}
	}()
	var stdout, stderr bytes.Buffer
	if code := runMain(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	<-started
	for _, want := range []string{
		"open loop at 500/s", "refused 5 (SEAT_UNAVAILABLE 5)", "unknown 3 (UNAVAILABLE 3)", "p99.9", "more than 1 %",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &stdout)
		}
	}
	if !strings.Contains(stderr.String(), "round 1 of 1") {
		t.Errorf("no progress in %q", &stderr)
	}
	t.Log(stdout.String())
}
