package cluster

import (
	"time"

	"github.com/houseful/houseful/fsm/meta"
)

// The limits and defaults of a node.
const (
	// ShardsDefault is how many data shards a cluster is born with when nobody says.
	ShardsDefault = 8
	// ShardsMax is the most data shards.
	ShardsMax = meta.ShardsMax
	// RequestTimeoutMin and RequestTimeoutMax bound Config.RequestTimeout. The upper one leaves room, within the life
	// of a command (fsm.CommandLifeMax), for log time that runs ahead of or behind this node's clock.
	RequestTimeoutMin = 100 * time.Millisecond
	RequestTimeoutMax = 10 * time.Second

	// HoldSecondsDefault, SeatsPerBookingDefault and HoldsPerUserDefault are a show's when the request says nothing.
	HoldSecondsDefault     = 420
	SeatsPerBookingDefault = 10
	HoldsPerUserDefault    = 4
)

const (
	// retryPauseMin is the first pause before a command is tried again; it doubles to retryPauseMax.
	retryPauseMin = 2 * time.Millisecond
	retryPauseMax = 100 * time.Millisecond
	// settleWaitMax is how long the answer to a confirm waits for its claim to be finalised or withdrawn.
	settleWaitMax = 250 * time.Millisecond
	// claimRoundsMax is how many claimants in a row a confirm tries to take a payment reference over from.
	claimRoundsMax = 4
	// browseInterval is how often a shard is asked for browse entries that the catalogue may lack.
	browseInterval = time.Second
	// browseBatch is how many browse entries are sent at once.
	browseBatch = 64
	// startRetryPause is the pause before a command of the node's start is tried again.
	startRetryPause = 100 * time.Millisecond
	// soleVoterTimeout is after how long the only voter of a group makes itself leader. There is nobody to wait for.
	soleVoterTimeout = 50 * time.Millisecond
	// closeGrace is how long Close waits for everything to end when it has no time any more. Groups take up to two seconds.
	closeGrace = 3 * time.Second
	// snapshotsAtOnce is how many groups of a node write a snapshot at the same time.
	snapshotsAtOnce = 1
)
