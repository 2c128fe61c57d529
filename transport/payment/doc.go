// Package payment lets the API take money through providers, each a strategy behind one interface (M-26). It knows
// nothing of seats: a booking is a reference and an amount here. It imports none of our packages and starts no
// goroutines.
package payment
