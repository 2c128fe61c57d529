package meta

import "github.com/houseful/houseful/fsm"

// The limits of the meta group. One that is reached refuses with a reason; none of them ends a sale, because selling
// does not pass through here.
const (
	// IDCharsMax is the most characters of an id.
	IDCharsMax = 64
	// NameBytesMax is the most bytes of a name, title, state, language, genre, perk or time zone.
	NameBytesMax = 256
	// AddressBytesMax is the most bytes of an address, of a theatre or a node.
	AddressBytesMax = 1024
	// DurationMinutesMax is the longest movie.
	DurationMinutesMax = 7 * 24 * 60
	// RatingHundredthsMax is the best rating: 10.
	RatingHundredthsMax = 1000

	// CitiesMax, MoviesMax, TheatresMax and ScreensMax bound the catalogue.
	CitiesMax   = 10_000
	MoviesMax   = 50_000
	TheatresMax = 50_000
	ScreensMax  = 100_000
	// ScreenRowsMax is the most rows of a screen; its seats are bounded by fsm.SeatsPerScreenMax.
	ScreenRowsMax = 10_000
	// ScreenTiersMax is the most tiers of a screen.
	ScreenTiersMax = 256
	// ShowEntriesMax is the most shows in the browse index. A capture copies a pointer for each, which takes about
	// 5 ms at this limit.
	ShowEntriesMax = 1 << 18

	// ShardsMax is the most data shards of a cluster.
	ShardsMax = 1024
	// NodesMax is the most nodes that a cluster remembers.
	NodesMax = 1024
	// VotersMax is the most genesis voters of a group.
	VotersMax = 7

	// AnswersMax is the most answers kept for retries, each for fsm.CommandLifeMax.
	AnswersMax = 1 << 16
	// PageMax is the most items of a page.
	PageMax = fsm.ListMax
	// SearchBytesMax is the longest text searched for.
	SearchBytesMax = 256
	// SnapshotRecordBytesMax is the longest record of a snapshot: a screen of ScreenRowsMax rows fits.
	SnapshotRecordBytesMax = 64 << 20
)
