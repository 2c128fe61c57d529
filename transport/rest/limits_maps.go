package rest

import (
	"math"
	"time"
)

// The limits of looking at seats and of the catalogue.
const (
	// SeatMapCacheBytesMax bounds the encoded seat maps that are kept; beyond it those go that nobody asked for longest.
	SeatMapCacheBytesMax = 128 << 20
	// cachedShowBytes is what a show's place in the cache takes beside its bodies.
	cachedShowBytes = 512
	// SeatMapRefreshInterval is how long a seat map is taken as current after a look at the show's version.
	SeatMapRefreshInterval = 25 * time.Millisecond
	// MinVersionWait is how long a request with minVersion waits for a replica to get there.
	MinVersionWait = time.Second
	// minVersionPoll is the time between two looks while it waits.
	minVersionPoll = 2 * time.Millisecond
	// compressBytesMin is the smallest body worth compressing.
	compressBytesMin = 1 << 10

	// StreamsMax is how many streams a node serves at once; more are refused with OVERLOADED.
	StreamsMax = 10_000
	// streamEventsMax and streamEventsBytesMax bound a show's recent events, and so how far a stream may fall behind
	// before it gets a snapshot.
	streamEventsMax      = 256
	streamEventsBytesMax = 1 << 20
	// StreamCommentInterval is the time between two comments on a stream.
	StreamCommentInterval = 15 * time.Second
	// StreamWriteTimeout is how long a stream's client may take to accept what is written.
	StreamWriteTimeout = 10 * time.Second
	// streamRetryMs is how long a client should wait before it connects again.
	streamRetryMs = 1000

	// PerksPerTierMax is the most perks of a tier.
	PerksPerTierMax = 32
	// AttributesPerSeatMax is the most attributes of a seat.
	AttributesPerSeatMax = 16
	// RefundRulesMax is the most rules of a refund policy.
	RefundRulesMax = 32
	// refundMinutesMax is how far before the start a refund rule may reach: a year.
	refundMinutesMax = 365 * 24 * 60
	// versionMax is the greatest version that a client may name.
	versionMax = math.MaxInt64

	hoursPerDay = 24
)
