// Package fsm holds the rules of a seat shard as a pure state machine: shows, seats, holds, bookings, payment
// claims and everything that must be decided in log order.
//
// A [Machine] takes log entries and gives results. The same log gives the same state and the same results on every
// replica, so nothing here reads a clock, draws a random number, does I/O, starts a goroutine or lets map order or a
// float reach its state. Time, ids and random parts arrive in the entry.
//
// The package imports only its own wire format (fsm/wire). One goroutine writes a Machine; readers must be kept
// apart from it by the caller (package shard holds the lock).
package fsm
