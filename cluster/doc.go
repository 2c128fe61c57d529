// Package cluster is a node of Houseful: its data directory, the groups it hosts, and the way of a request to the
// shard that decides it.
//
// A [Node] owns one meta group (the catalogue and who is who) and its replicas of the data shards. It routes: a show
// to its shard by a stable hash of the show's id, a booking by the shard number in its reference, a payment
// reference by the same hash. What spans two shards is done here in steps that a crash may cut anywhere: the claim
// of a payment reference (claims.go) and the browse entry of a show (browse.go).
//
// Outcomes stay three to the end: a result, an error that is [ErrNotApplied] (nothing was done and nothing will be),
// or [ErrUnknown] (it may or may not have been done; ask again with the same key).
//
// The package imports shard and below, never transport. Its goroutines: one brings the groups up and ends; one for
// each group fails the node when the group does; one for each shard is its browse loop. Close stops and waits for all.
package cluster
