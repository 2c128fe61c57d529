// Package rest is the public HTTP API: it reads requests, asks the node, and writes answers.
//
// It owns the wire form of everything in docs/openapi.yaml: routes with the role each needs, JSON bodies in and out,
// errors, limits, conventions. It decides nothing about seats: rules are package fsm's, placement is package cluster's.
// It must not import shard or hashicorp/raft.
//
// A request's way: [Server] takes it from fasthttp, gives it a [Call], checks host, credentials, route and role, and
// runs the route's handler. A handler reads the body through an object, asks the node, and appends the answer to the
// response buffer by hand. It either answers or returns an error; the server writes the error.
//
// Goroutines: fasthttp's, one per connection, and one that watches the shows that streams follow while there are any.
// All of them end with [Server.Shutdown].
package rest
