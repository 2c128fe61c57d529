// Package meta holds what the whole cluster agrees on as a pure state machine: the catalogue (cities, movies,
// theatres, screens), the browse index of shows, the cluster's id and shard count, its nodes, and the replicas that
// bootstrap each group.
//
// A [Machine] takes log entries and gives results, like fsm.Machine and under the same rules: the same log gives the
// same state and the same results on every replica, so nothing here reads a clock, draws a random number, does I/O,
// starts a goroutine or lets map order or a float reach its state.
//
// The package imports only fsm and its wire format. One goroutine writes a Machine; readers must be kept apart from
// it by the caller (package shard holds the lock). Every object that a read returns is immutable.
package meta
