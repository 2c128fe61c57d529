package cluster

import (
	"crypto/rand"

	"github.com/cespare/xxhash/v2"

	"github.com/houseful/houseful/fsm"
)

// ShardOf gives the shard of a show id or a payment reference: xxhash64 of its bytes, modulo the number of shards.
// It is fixed for ever: changing it would lose every show.
func ShardOf(id string, shards int) int { return int(xxhash.Sum64String(id) % uint64(shards)) }

// shardOfShow gives the shard that decides about a show.
func shardOfShow(shards []*dataShard, id string) *dataShard {
	return shards[ShardOf(id, len(shards))]
}

// shardOfBooking gives the shard that a booking's reference carries; nil when the cluster has no such shard, and so no
// such booking.
func shardOfBooking(shards []*dataShard, ref fsm.BookingRef) *dataShard {
	if number := int(ref.Shard()); number < len(shards) {
		return shards[number]
	}
	return nil
}

// drawBookingRef draws the reference of a booking that is about to be made.
func drawBookingRef(shard int) fsm.BookingRef {
	var random [14]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the program instead
	return fsm.NewBookingRef(uint16(shard), random)
}

func drawCommandID() fsm.CommandID {
	var id fsm.CommandID
	_, _ = rand.Read(id[:]) // never fails: it ends the program instead
	return id
}
