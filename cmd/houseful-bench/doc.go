// Command houseful-bench puts load on a Houseful server over HTTP and says what that server costs beside an empty one.
//
// It measures against a running server (--server) or one that it starts on an empty data directory (--start). Each
// workload is run in short rounds that alternate between the server and an *echo*: an empty fasthttp handler in a
// process of its own, driven by the same client over as many connections, with requests built by the same code and
// answers copied from the server at the start of the run. The ratio of the two is what the server adds to HTTP itself
// on this machine; the rounds cancel drift, and their spread is printed.
//
//	flags        command.go, config.go, limits.go
//	a run        bench.go (the run), contest.go (one workload), catalogue.go (its shows), sample.go (the answers to echo)
//	requests     workload.go, workload_hold.go, workload_read.go; seats are dealt by seatplan.go
//	the client   connection.go and response.go: one blocking keep-alive connection a worker, no pipelining
//	driving      slot.go: closed loop, or open loop from an intended send time (pacer.go)
//	processes    child.go, server.go (houseful serve), echo.go (this binary again, with a hidden command)
//	disk         fsync.go: one fsync of the data directory's disk, for the idle latency
//	results      tally.go, recorder.go, report.go, text.go, progress.go
//
// It shares no code with the server and imports none of its packages: what it knows of Houseful is the HTTP API.
//
// Goroutines: one a connection for the length of a slot, one pacer a slot in an open loop, one progress ticker a run,
// one a child process. The function that starts them waits for them; every wait has a deadline.
package main
