package rest

import (
	"testing"

	"github.com/houseful/houseful/fsm"
)

// sampleBooking is a booking of some seats, as the machine gives it.
func sampleBooking(seats int) *fsm.Booking {
	b := &fsm.Booking{
		ShowNames: &fsm.ShowNames{MovieTitle: "Interstellar", TheatreName: "PVR Forum", ScreenName: "Audi 1"}, Details: &fsm.Details{},
		Ref: fsm.NewBookingRef(1, [14]byte{1, 2, 3}), Show: "show-1", User: "user-1", Currency: "INR", Status: fsm.StatusPending, TotalAmount: 80_000, CreatedAt: 1_792_159_201_120,
		UpdatedAt: 1_792_159_201_120, ExpiresAt: 1_792_159_621_120, AsOf: 1_792_159_201_120, Version: 1, ShowVersion: 118,
	}
	for i := range seats {
		b.Seats = append(b.Seats, fsm.BookedSeat{Seat: fsm.SeatIndex(i), Label: "A10", Tier: "STANDARD", Price: 40_000, Remains: true})
	}
	return b
}

func BenchmarkReadHold(b *testing.B) {
	c := newBodyCall(`{"showId":"show-1","seats":["A1","A2"],"userId":"user-1234567"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.readHold(nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadHoldWithKey(b *testing.B) {
	c := newBodyCall(`{"showId":"show-1","seats":["A1","A2"],"userId":"user-1234567"}`)
	key := []byte("6f1c7b0e-5a0e-4d0b-9b7f-0d7f4f0b8a11")
	b.ReportAllocs()
	for b.Loop() {
		if err := c.readHold(key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendBooking(b *testing.B) {
	booking := sampleBooking(2)
	buffer := appendBooking(nil, booking)
	b.ReportAllocs()
	b.SetBytes(int64(len(buffer)))
	for b.Loop() {
		buffer = appendBooking(buffer[:0], booking)
	}
}

// TestHotPathAllocations holds the hot path to its promise: nothing is allocated per seat, and nothing at all for
// reading a hold and writing a booking.
func TestHotPathAllocations(t *testing.T) {
	const label = `"A1","A2","A3","A4","A5","A6","A7","A8","A9","A10","B1","B2"`
	c := newBodyCall(`{"showId":"show-1","seats":[` + label + `],"userId":"user-1","userName":"Ann","contact":{"email":"a@b.c"}}`)
	key := []byte("key")
	if allocations := testing.AllocsPerRun(100, func() { _ = c.readHold(key) }); allocations > 0 {
		t.Errorf("reading a hold allocates %v times", allocations)
	}
	booking := sampleBooking(100)
	buffer := appendBooking(nil, booking)
	if allocations := testing.AllocsPerRun(100, func() { buffer = appendBooking(buffer[:0], booking) }); allocations > 0 {
		t.Errorf("writing a booking allocates %v times", allocations)
	}
}
