package main

import "time"

// The limits of a run. All work is bounded, in time and in count.
const (
	// connectionsMax bounds --connections, roundsMax --rounds, rateMax --rate, in requests per second.
	connectionsMax = 20_000
	roundsMax      = 100
	rateMax        = 1_000_000
	// durationMax bounds --duration, the measured time of one side of one workload; warmupMax bounds --warmup.
	durationMax = 10 * time.Minute
	warmupMax   = time.Minute
	// seatsMax bounds --seats.
	seatsMax = 10
	// screenSeatsMax is the most seats the server gives a screen.
	screenSeatsMax = 100_000
	// spreadShowsMax bounds --shows; showsMax is the most shows that one workload makes in a run.
	spreadShowsMax = 5_000
	showsMax       = 100_000

	// rampDuration opens every slot unmeasured, until all connections are busy and the other side is quiet; a slot
	// shorter than it has a ramp of its own length.
	rampDuration = 200 * time.Millisecond
	// slotMin is the shortest measured part of a slot.
	slotMin = 100 * time.Millisecond
	// answerTimeout is how long a request may take. It is set once a slot, for the slot's length and this.
	answerTimeout = 10 * time.Second
	// dialTimeout bounds a connect. dialFailuresMax in a row end a connection's part in a slot.
	dialTimeout     = 5 * time.Second
	dialFailuresMax = 3

	// prepareTimeout bounds one call that prepares the catalogue; prepareWorkers are made at once.
	prepareTimeout = 30 * time.Second
	prepareWorkers = 64
	// prepareBudget is how much longer than measuring a workload may take with everything around it.
	prepareBudget = 15 * time.Minute
	// stockMargin is how much more is prepared for a slot than the fastest slot so far used.
	stockMargin = 1.5
	// firstRateGuess is the requests per second prepared for before anything was measured.
	firstRateGuess = 40_000
	// idleRateGuess is the same for each connection when there are few.
	idleRateGuess = 5_000

	// samplesPerStep answers are looked at to find the one the echo gives.
	samplesPerStep = 9
	// deltaChanges is how many bookings lie between the version a delta is asked from and the newest.
	deltaChanges = 10
	// readShows is how many shows the reading workloads spread over, idleShows the most for the idle one.
	readShows = 8
	idleShows = 50

	// serverStartTimeout, buildTimeout and the graces bound the life of the children.
	serverStartTimeout = 60 * time.Second
	buildTimeout       = 5 * time.Minute
	serverStopGrace    = 30 * time.Second
	echoStopGrace      = 5 * time.Second
	// childOutputMax is how much of a child's last output is kept for an error message.
	childOutputMax = 4 << 10

	// receiveBufferBytes is a connection's buffer. responseHeadMax and bodyPrefixMax, parts of it, bound the head
	// of an answer and what is kept of its body; bodyMax is the longest body read.
	receiveBufferBytes = 64 << 10
	responseHeadMax    = 8 << 10
	bodyPrefixMax      = 4 << 10
	bodyMax            = 64 << 20

	// fsyncBytes is one record of the disk probe, fsyncProbeMax and fsyncProbeTime bound a round of it.
	fsyncBytes     = 4 << 10
	fsyncProbeMax  = 2_000
	fsyncProbeTime = 500 * time.Millisecond
	// idleRatioBar is what the median idle hold may cost, in fsyncs of the disk.
	idleRatioBar = 5.0

	// latencyLowest and latencyHighest are the range of the histograms; latencyDigits their precision.
	latencyLowest  = time.Microsecond
	latencyHighest = 2 * time.Minute
	latencyDigits  = 3
	// latencyBatch latencies are gathered by a connection before it takes the histogram's lock.
	latencyBatch = 32

	// progressInterval is how often the progress line is drawn on a terminal.
	progressInterval = 200 * time.Millisecond
)
