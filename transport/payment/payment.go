package payment

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// ErrUnknownMethod says that no provider takes a payment method.
var ErrUnknownMethod = errors.New("unknown payment method")

// Charge asks for money for a booking.
type Charge struct {
	Booking  string // the booking's reference: the same charge asked twice takes money once
	Method   string // the method the buyer chose, one of the provider's
	Amount   int64  // minor units
	Currency string // ISO 4217
}

// Outcome is a provider's answer.
type Outcome struct {
	Captured bool   // false: declined, no money was taken
	Ref      string // of a captured payment: the provider's reference, the same each time
	Reason   string // of a declined one: what to tell the buyer
}

// Provider takes payments.
type Provider interface {
	// Methods names the payment methods it takes.
	Methods() []string
	// Charge takes the money or declines. An error means that neither is known: the caller must ask again with the
	// same charge before it tells the buyer anything.
	Charge(ctx context.Context, charge Charge) (Outcome, error)
}

// Providers finds the provider of a payment method.
type Providers struct{ byMethod map[string]Provider }

// NewProviders makes a set of providers; of two that take one method, the later has it.
func NewProviders(providers ...Provider) *Providers {
	p := &Providers{byMethod: make(map[string]Provider)}
	for _, provider := range providers {
		for _, method := range provider.Methods() {
			p.byMethod[method] = provider
		}
	}
	return p
}

// Methods names every method that a provider takes, sorted.
func (p *Providers) Methods() []string { return slices.Sorted(maps.Keys(p.byMethod)) }

// Knows reports whether a provider takes the method.
func (p *Providers) Knows(method string) bool { return p.byMethod[method] != nil }

// Charge asks the provider of the charge's method. ErrUnknownMethod when there is none.
func (p *Providers) Charge(ctx context.Context, charge Charge) (Outcome, error) {
	provider := p.byMethod[charge.Method]
	if provider == nil {
		return Outcome{}, ErrUnknownMethod
	}
	return provider.Charge(ctx, charge)
}
