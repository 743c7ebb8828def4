package seal_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/internal/seal"
)

func TestPuzzles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		puzzles := seal.NewPuzzles(ring(t, oldSecret))
		text := puzzles.Issue("show", "alice")
		if len(text) != 56 || text == puzzles.Issue("show", "alice") {
			t.Errorf("%q is not new, or not of 56 characters", text)
		}
		made := time.Now()
		time.Sleep(time.Minute)
		for _, p := range []*seal.Puzzles{puzzles, seal.NewPuzzles(ring(t, newSecret, oldSecret))} {
			if at, err := p.Open(text, "show", "alice"); err != nil || at.UnixMilli() != made.UnixMilli() {
				t.Errorf("made at %s: %s, %v", made, at, err)
			}
		}
		for _, other := range [][2]string{{"show", "bob"}, {"other", "alice"}, {"sho", "walice"}} {
			if _, err := puzzles.Open(text, other[0], other[1]); !errors.Is(err, seal.ErrSignature) {
				t.Errorf("of %v: %v", other, err)
			}
		}
		ticket := seal.NewTickets(ring(t, oldSecret)).Seal(seal.Ticket{Event: "show", User: "alice", Epoch: 1, Order: 2})
		if _, err := puzzles.Open(ticket, "show", "alice"); err == nil {
			t.Error("a ticket is a puzzle")
		}
	})
}
