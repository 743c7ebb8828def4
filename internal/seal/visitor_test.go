package seal_test

import (
	"errors"
	"testing"

	"github.com/millrace-go/millrace/internal/seal"
)

func TestVisitor(t *testing.T) {
	visitors := seal.NewVisitors(ring(t, oldSecret))
	text, user := visitors.Issue()
	if _, other := visitors.Issue(); other == user || len(user) != 22 {
		t.Errorf("two visitors: %q and %q", user, other)
	}
	for _, v := range []*seal.Visitors{visitors, seal.NewVisitors(ring(t, newSecret, oldSecret))} {
		if got, err := v.Open(text); err != nil || got != user {
			t.Errorf("%q opens as %q, %v", text, got, err)
		}
	}
	everyBit(t, text, func(text string) error { _, err := visitors.Open(text); return err })
	// A ticket of an older release has as many characters, and another key.
	if _, err := seal.NewTickets(ring(t, oldSecret)).Open(text, "", ""); !errors.Is(err, seal.ErrSignature) {
		t.Errorf("a visitor's text as a ticket: %v, want %v", err, seal.ErrSignature)
	}
	for given, want := range map[string]error{"": seal.ErrMissing, text[1:]: seal.ErrMalformed, text + "A": seal.ErrMalformed} {
		if _, err := visitors.Open(given); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", given, err, want)
		}
	}
}
