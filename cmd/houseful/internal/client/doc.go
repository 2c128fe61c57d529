// Package client is how the command line speaks to a server: a small HTTP client for JSON, with the server's refusals
// as typed errors. It asks again where the server said that nothing was applied.
//
// It starts no goroutine of its own and must import nothing of ours.
package client
