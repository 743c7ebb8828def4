package token_test

import (
	"errors"
	"testing"

	"github.com/millrace-go/millrace/queue/token"
)

func TestVisitor(t *testing.T) {
	visitors := token.NewVisitors(ring(t, oldSecret))
	text, user := visitors.Issue()
	if _, other := visitors.Issue(); other == user || len(user) != 22 {
		t.Errorf("two visitors: %q and %q", user, other)
	}
	for _, v := range []*token.Visitors{visitors, token.NewVisitors(ring(t, newSecret, oldSecret))} {
		if got, err := v.Open(text); err != nil || got != user {
			t.Errorf("%q opens as %q, %v", text, got, err)
		}
	}
	everyBit(t, text, func(text string) error { _, err := visitors.Open(text); return err })
	ticket := token.NewTickets(ring(t, oldSecret)).Seal(token.Ticket{Epoch: 1, Order: 2})
	for given, want := range map[string]error{"": token.ErrMissing, text[1:]: token.ErrMalformed, text + "A": token.ErrMalformed, ticket: token.ErrSignature} {
		if _, err := visitors.Open(given); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", given, err, want)
		}
	}
}
