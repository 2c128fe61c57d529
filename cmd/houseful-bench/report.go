package main

import (
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// report is everything a run found out. Its JSON names its units.
type report struct {
	Time        time.Time         `json:"time"`
	Machine     machineReport     `json:"machine"`
	Config      config            `json:"config"`
	Workloads   []*workloadReport `json:"workloads"`
	Comparisons []comparison      `json:"comparisons,omitempty"`
}

// machineReport says where it was measured.
type machineReport struct {
	CPUs      int    `json:"cpus"`
	GoVersion string `json:"goVersion"`
	System    string `json:"system"`
}

// workloadReport is one workload on both sides.
type workloadReport struct {
	Name         string      `json:"name"`
	Connections  int         `json:"connections"`
	OpenLoopRate float64     `json:"openLoopRatePerSecond,omitempty"`
	Houseful     *sideReport `json:"houseful"`
	Echo         *sideReport `json:"echo"`
	// Ratio is houseful's rate over the echo's, round by round. CPURatio is the echo's processor time for a request over
	// houseful's, client included: what Ratio is when nothing but the processors limits either side, and steadier on
	// a machine that others use too.
	Ratio    spread      `json:"ratioOfEcho"`
	CPURatio float64     `json:"cpuRatioOfEcho,omitempty"`
	Idle     *idleReport `json:"idle,omitempty"`
	Notes    []string    `json:"notes,omitempty"`
}

// sideReport is one workload on one server, all rounds together.
type sideReport struct {
	DonePerSecond          float64      `json:"donePerSecond"`
	RoundsPerSecond        []float64    `json:"roundsDonePerSecond"`
	Requests               int64        `json:"requests"`
	AnswerBytesMean        float64      `json:"answerBytesMean"`
	ServerMicrosPerRequest float64      `json:"serverCPUMicrosecondsPerRequest,omitempty"`
	ClientMicrosPerRequest float64      `json:"clientCPUMicrosecondsPerRequest,omitempty"`
	Unsent                 int64        `json:"unsent"`
	Outcomes               *tally       `json:"outcomes"`
	Steps                  []stepReport `json:"steps"`
}

// stepReport is the latencies of one step, in microseconds.
type stepReport struct {
	Name      string        `json:"name"`
	Latencies latencyReport `json:"latencies"`
}

// latencyReport is a histogram in a few figures.
type latencyReport struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"meanMicroseconds"`
	P50   float64 `json:"p50Microseconds"`
	P75   float64 `json:"p75Microseconds"`
	P90   float64 `json:"p90Microseconds"`
	P95   float64 `json:"p95Microseconds"`
	P99   float64 `json:"p99Microseconds"`
	P999  float64 `json:"p99_9Microseconds"`
	Max   float64 `json:"maxMicroseconds"`
}

// idleReport is the idle hold beside one fsync.
type idleReport struct {
	Fsync latencyReport `json:"fsync"`
	Ratio float64       `json:"p50OverFsyncP50"`
	Bar   float64       `json:"bar"`
}

// comparison is the rates of two workloads of one run, round by round.
type comparison struct {
	Name  string `json:"name"`
	Ratio spread `json:"ratio"`
}

// spread is a ratio measured several times.
type spread struct {
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Rounds []float64 `json:"rounds"`
}

// newReport makes the report of a run.
func newReport(cfg *config, contests []*contest) *report {
	r := &report{
		Time:    time.Now().UTC().Truncate(time.Millisecond),
		Machine: machineReport{CPUs: runtime.NumCPU(), GoVersion: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH},
		Config:  *cfg,
	}
	for _, c := range contests {
		r.Workloads = append(r.Workloads, newWorkloadReport(c))
	}
	if hot, hold := r.find(workloadHot), r.find(workloadHold); hot != nil && hold != nil {
		r.Comparisons = append(r.Comparisons, comparison{
			Name: "hot show over spread shows", Ratio: newSpread(hot.Houseful.RoundsPerSecond, hold.Houseful.RoundsPerSecond),
		})
	}
	return r
}

func (r *report) find(name string) *workloadReport {
	for _, w := range r.Workloads {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// newWorkloadReport puts both sides of a contest together.
func newWorkloadReport(c *contest) *workloadReport {
	w := &workloadReport{
		Name: c.name, Connections: len(c.sides[0].connections), OpenLoopRate: c.rate,
		Houseful: newSideReport(c.load, c.sides[sideReal]), Echo: newSideReport(c.load, c.sides[sideEcho]),
	}
	w.Ratio = newSpread(w.Houseful.RoundsPerSecond, w.Echo.RoundsPerSecond)
	if w.Houseful.ServerMicrosPerRequest > 0 && w.Echo.ServerMicrosPerRequest > 0 {
		w.CPURatio = w.Echo.cpuMicros() / w.Houseful.cpuMicros()
	}
	if c.probe != nil {
		fsync := newLatencyReport(c.probe.latencies)
		w.Idle = &idleReport{Fsync: fsync, Bar: idleRatioBar}
		if fsync.P50 > 0 {
			w.Idle.Ratio = w.Houseful.Steps[0].Latencies.P50 / fsync.P50
		}
	}
	w.Notes = notes(c)
	return w
}

// notes says what makes the figures mean something else than they seem to.
func notes(c *contest) []string {
	var notes []string
	for _, s := range c.sides {
		var others, unsent, requests int64
		ranOut := false
		for _, slot := range s.slots {
			others += slot.tally.others()
			unsent += slot.unsent
			requests += slot.requests
			ranOut = ranOut || slot.ranOut
		}
		if others*100 > requests {
			notes = append(notes, s.kind.String()+": more than 1 % of the requests were not done; rates count those that were")
		}
		if unsent > 0 {
			notes = append(notes, s.kind.String()+": could not keep up with the rate; requests that were never sent count with their wait so far")
		}
		if ranOut {
			notes = append(notes, s.kind.String()+": ran out of seats before a round was over; that round is shorter")
		}
	}
	return notes
}

// newSideReport adds up the slots of a side.
func newSideReport(load workload, s *side) *sideReport {
	r := &sideReport{Outcomes: newTally()}
	steps := load.steps()
	histograms := make([]*hdrhistogram.Histogram, len(steps))
	for i := range histograms {
		histograms[i] = newHistogram()
	}
	var seconds float64
	var done, bytes int64
	var serverCPU, clientCPU time.Duration
	for _, slot := range s.slots {
		r.RoundsPerSecond = append(r.RoundsPerSecond, slot.rate())
		r.Outcomes.merge(slot.tally)
		r.Requests += slot.requests
		r.Unsent += slot.unsent
		seconds += slot.seconds
		done += slot.done
		bytes += slot.bytes
		serverCPU += slot.serverCPU
		clientCPU += slot.clientCPU
		for i, histogram := range slot.latencies {
			histograms[i].Merge(histogram)
		}
	}
	if seconds > 0 {
		r.DonePerSecond = float64(done) / seconds
	}
	if r.Requests > 0 {
		r.AnswerBytesMean = float64(bytes) / float64(r.Requests)
		r.ServerMicrosPerRequest = micros(serverCPU) / float64(r.Requests)
		r.ClientMicrosPerRequest = micros(clientCPU) / float64(r.Requests)
	}
	for i, step := range steps {
		r.Steps = append(r.Steps, stepReport{Name: step.name, Latencies: newLatencyReport(histograms[i])})
	}
	return r
}

// cpuMicros gives the processor time of one request, client and server together.
func (s *sideReport) cpuMicros() float64 { return s.ServerMicrosPerRequest + s.ClientMicrosPerRequest }

// newLatencyReport reads the figures out of a histogram.
func newLatencyReport(h *hdrhistogram.Histogram) latencyReport {
	at := func(percentile float64) float64 { return micros(time.Duration(h.ValueAtPercentile(percentile))) }
	return latencyReport{
		Count: h.TotalCount(), Mean: h.Mean() / float64(time.Microsecond), Max: micros(time.Duration(h.Max())),
		P50: at(50), P75: at(75), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9),
	}
}

// newSpread divides round by round.
func newSpread(over, under []float64) spread {
	var s spread
	for i := range min(len(over), len(under)) {
		if under[i] > 0 {
			s.Rounds = append(s.Rounds, over[i]/under[i])
		}
	}
	if len(s.Rounds) == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(s.Rounds))
	middle := len(sorted) / 2
	s.Median, s.Min, s.Max = sorted[middle], sorted[0], sorted[len(sorted)-1]
	if len(sorted)%2 == 0 {
		s.Median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return s
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// writeJSON prints the report as one JSON object.
func (r *report) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
