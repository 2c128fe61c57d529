package payment

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestProviders(t *testing.T) {
	providers := NewProviders(Sandbox{})
	charge := Charge{Booking: "BMS-1", Method: MethodSandbox, Amount: 100, Currency: "INR"}
	first, err := providers.Charge(context.Background(), charge)
	if err != nil || !first.Captured || first.Ref == "" {
		t.Fatalf("the sandbox answered %+v, %v", first, err)
	}
	if again, err := providers.Charge(context.Background(), charge); err != nil || again != first {
		t.Errorf("the same charge again answered %+v, %v, want %+v", again, err, first)
	}
	charge.Booking = "BMS-2"
	if other, err := providers.Charge(context.Background(), charge); err != nil || other.Ref == first.Ref {
		t.Errorf("another booking's charge answered %+v, %v", other, err)
	}
	charge.Method = MethodSandboxDeclined
	if declined, err := providers.Charge(context.Background(), charge); err != nil || declined.Captured || declined.Ref != "" || declined.Reason == "" {
		t.Errorf("a declined charge answered %+v, %v", declined, err)
	}
	if got, want := providers.Methods(), []string{MethodSandbox, MethodSandboxDeclined}; !slices.Equal(got, want) {
		t.Errorf("the methods are %q, want %q", got, want)
	}
	charge.Method = "cowries"
	if _, err := providers.Charge(context.Background(), charge); !errors.Is(err, ErrUnknownMethod) || providers.Knows("cowries") {
		t.Errorf("an unknown method answered %v", err)
	}
}

// refusing is a provider that cannot be reached.
type refusing struct{}

func (refusing) Methods() []string { return []string{MethodSandbox} }

func (refusing) Charge(context.Context, Charge) (Outcome, error) {
	return Outcome{}, errors.New("no route to the bank")
}

func TestLaterProviderHasTheMethod(t *testing.T) {
	providers := NewProviders(Sandbox{}, refusing{})
	if _, err := providers.Charge(context.Background(), Charge{Method: MethodSandbox}); err == nil {
		t.Error("the earlier provider was asked")
	}
	if !providers.Knows(MethodSandboxDeclined) {
		t.Error("the earlier provider lost a method of its own")
	}
}
