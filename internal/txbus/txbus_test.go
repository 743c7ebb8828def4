package txbus

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTables(t *testing.T) {
	long := strings.Repeat("x", MaxTopic)
	seen := map[string]string{}
	for _, topic := range []string{"a", "A", "payment.events", "a-b$c:d_e", strings.Repeat("x", 45), strings.Repeat("x", 46), long[1:] + "y", long} {
		assert.NoErrorf(t, checkTopic(topic), "%s", topic)
		for _, table := range []string{MessagesTable(topic), OffsetsTable(topic)} {
			if len(table) > 63 {
				t.Errorf("%s is too long for PostgreSQL", table)
			}
			if other, ok := seen[table]; ok {
				t.Errorf("%s belongs to %s and %s", table, other, topic)
			}
			seen[table] = topic
		}
	}
	for _, topic := range []string{"", "a b", "a\"b", "a`b", "é", "offsets_a", long + "x"} {
		if err := checkTopic(topic); fault.Of(err) != fault.Permanent {
			t.Errorf("%q: %v", topic, err)
		}
	}
}

func TestRounds(t *testing.T) {
	life, end := context.WithCancel(t.Context())
	busy := errors.New("deadlock")
	arranged, failed := 0, error(nil)
	s := &subscription{
		log: slog.New(slog.DiscardHandler),
		driver: &Driver{Parts: Parts{
			Poll: 80 * time.Millisecond, Dialect: arranging{arrange: func() (int, error) { n := arranged; arranged = 0; return n, failed }},
			Classify: func(err error) fault.Class {
				if errors.Is(err, busy) {
					return fault.Transient
				}
				return fault.Infrastructure
			},
		}},
	}
	r := newRounds(life, s)
	ends := func(what string, want bool, noMessage bool, err error) {
		t.Helper()
		c := r.ending()
		r.HandleError(nil, noMessage, err)
		if got := <-c; got != want {
			t.Errorf("%s: committed %t, want %t", what, got, want)
		}
	}
	ends("a round that went well", true, false, nil)
	ends("a round with an error", false, false, busy)
	// A failed commit shows only in the log.
	r.With(nil).Error("could not commit tx for querying message", busy, nil)
	ends("a round whose commit failed", false, false, nil)
	ends("the next one", true, false, nil)

	// Pauses grow while no message arrives, and end with a message.
	var last time.Duration
	for range 8 {
		d := r.HandleError(nil, true, nil)
		if d < last || d > 80*time.Millisecond || d == 0 {
			t.Errorf("a pause of %v after one of %v", d, last)
		}
		last = d
	}
	assert.Equal(t, 80*time.Millisecond, last, "the longest pause")
	arranged = 3
	assert.EqualValues(t, 0, r.HandleError(nil, true, nil), "messages were made readable, and it waits for")
	failed = busy
	if d := r.HandleError(nil, true, nil); d == 0 {
		t.Error("no pause after an error")
	}
	failed = nil
	assert.EqualValues(t, 0, r.HandleError(nil, false, nil), "after a message it waits for")
	end()
	assert.EqualValues(t, 0, r.HandleError(nil, false, context.Canceled), "at its end it waits for")
}

// arranging is a dialect that only arranges.
type arranging struct {
	Dialect
	arrange func() (int, error)
}

func (a arranging) Arrange(context.Context, *sql.DB, string) (int, error) { return a.arrange() }
