package cluster

import (
	"errors"
	"fmt"
)

// Errors of commands. Every error of a command is ErrNotApplied, ErrUnknown, a missing reference or an InvalidError.
var (
	// ErrNotApplied is the class of errors after which nothing was done and nothing will be. Ask again later.
	ErrNotApplied = errors.New("not applied")
	// ErrOverloaded says that a shard's queue is full, or that it keeps as much as it may.
	ErrOverloaded = fmt.Errorf("overloaded: %w", ErrNotApplied)
	// ErrDiskFull says that free space is below the node's floor.
	ErrDiskFull = fmt.Errorf("too little free disk space: %w", ErrNotApplied)
	// ErrNotReady says that the group that must decide has no leader here (yet).
	ErrNotReady = fmt.Errorf("not ready: %w", ErrNotApplied)
	// ErrClosed says that the node is stopping.
	ErrClosed = fmt.Errorf("closed: %w", ErrNotApplied)

	// ErrUnknown says that the command may or may not have been done, now or within its time limit.
	ErrUnknown = errors.New("outcome unknown")
)

// Errors of references: what a command names is not there. Nothing was done.
var (
	ErrCityNotFound    = errors.New("city not found")
	ErrMovieNotFound   = errors.New("movie not found")
	ErrTheatreNotFound = errors.New("theatre not found")
	ErrScreenNotFound  = errors.New("screen not found")
	// ErrCatalogueFull says that the catalogue holds as many objects of a kind as it may.
	ErrCatalogueFull = errors.New("the catalogue is full")
)

// Errors of starting a node.
var (
	// ErrConfig is the class of what Validate refuses.
	ErrConfig = errors.New("configuration")
	// ErrDataDirLocked says that another process uses the data directory.
	ErrDataDirLocked = errors.New("data directory is in use by another process")
	// ErrIdentity says that the data directory belongs to another node or is damaged.
	ErrIdentity = errors.New("identity of the data directory")
	// ErrBirth says that the cluster was born otherwise than this node is configured, for example with another
	// number of shards.
	ErrBirth = errors.New("the cluster was born otherwise")
	// ErrStateLost says that a group's log and snapshots are gone from the data directory.
	ErrStateLost = errors.New("state is missing from the data directory")
)

// ErrNotClosed says that Close gave up waiting: a call of a store or a machine hangs. The process should end.
var ErrNotClosed = errors.New("a part of the node does not end")

// InvalidError says what is wrong with an object of the catalogue. Nothing was done.
type InvalidError struct {
	Field  string // as the API names it
	Reason string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Reason }
