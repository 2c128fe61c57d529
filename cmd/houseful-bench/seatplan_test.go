package main

import (
	"fmt"
	"testing"
)

// TestSeatPlan deals every seat of two generations once, whatever the sizes, and never one that is not there.
func TestSeatPlan(t *testing.T) {
	for _, c := range []struct{ spread, showSeats, seats int }{
		{1, 2, 2}, {1, 100, 2}, {3, 500, 2}, {1, 505, 3}, {2, 7, 1}, {1, 5100, 2}, {4, 130, 10},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			l := newLayout(c.showSeats, c.seats)
			p := newSeatPlan("b-", c.spread, l, c.seats)
			p.made(int64(2 * c.spread))
			exists := map[string]bool{}
			for row := 0; row*l.rowSize < l.seats; row++ {
				for number := 1; number <= min(l.rowSize, l.seats-row*l.rowSize); number++ {
					exists[fmt.Sprintf(`"%s%d"`, rowLabel(row), number)] = true
				}
			}
			if len(exists) != c.showSeats {
				t.Fatalf("the layout has %d seats", len(exists))
			}
			dealt := map[string]bool{}
			for range 2 * int64(c.spread) * l.bookings(c.seats) {
				at, ok := p.take()
				if !ok {
					t.Fatalf("dealt out after %d", len(dealt))
				}
				if at.show >= int64(2*c.spread) {
					t.Fatalf("show %d does not exist", at.show)
				}
				for i := range c.seats {
					label := fmt.Sprintf(`"%s%d"`, at.row, at.first+i)
					key := fmt.Sprint(at.show, label)
					if !exists[label] || dealt[key] {
						t.Fatalf("%s: exists %v, dealt before %v", key, exists[label], dealt[key])
					}
					dealt[key] = true
				}
			}
			if _, ok := p.take(); ok {
				t.Fatal("dealt more than there is")
			}
			p.made(int64(3 * c.spread))
			if at, ok := p.take(); !ok || at.show < int64(2*c.spread) {
				t.Fatalf("the third generation begins with %+v, %v", at, ok)
			}
		})
	}
}

func TestRowLabel(t *testing.T) {
	for row, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 701: "ZZ", 702: "AAA"} {
		if got := rowLabel(row); got != want {
			t.Errorf("row %d is %s, want %s", row, got, want)
		}
	}
}

// TestLayoutFitsBody: a screen of the most seats is put with one body of at most 64 KiB, rows and all.
func TestLayoutFitsBody(t *testing.T) {
	for _, seats := range []int{500, 5000, 5001, screenSeatsMax} {
		for booking := 1; booking <= seatsMax; booking++ {
			l := newLayout(seats, booking)
			if rows := (l.seats + l.rowSize - 1) / l.rowSize; rows > 1000 || l.rowSize%booking != 0 {
				t.Errorf("%d seats by %d: %d rows of %d", seats, booking, rows, l.rowSize)
			}
		}
	}
}
