// Package storetest is the conformance suite of log stores: what a Raft replica takes for granted of the store under it. It runs on the
// stores of package logstore and, with the two liberties it takes declared, on plain raft-boltdb.
package storetest
