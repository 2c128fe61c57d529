package payment

import "context"

// The sandbox's methods.
const (
	MethodSandbox         = "sandbox"          // always succeeds
	MethodSandboxDeclined = "sandbox-declined" // always declines
)

// Sandbox is the provider for trying things out: it moves no money and decides at once.
type Sandbox struct{}

// Methods implements Provider.
func (Sandbox) Methods() []string { return []string{MethodSandbox, MethodSandboxDeclined} }

// Charge implements Provider. The reference follows from the booking, so a repeated confirm is the same payment.
func (Sandbox) Charge(_ context.Context, charge Charge) (Outcome, error) {
	if charge.Method == MethodSandboxDeclined {
		return Outcome{Reason: "the sandbox declines this method"}, nil
	}
	return Outcome{Captured: true, Ref: "sandbox-" + charge.Booking}, nil
}
