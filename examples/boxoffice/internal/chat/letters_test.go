package chat_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/fault"
)

// A message that cannot be stored becomes a dead letter and is announced all the
// same; the others go on without a gap, and a redriven one takes the next place,
// once.
func TestDeadLetters(t *testing.T) {
	for _, on := range transports {
		t.Run(on.name, func(t *testing.T) {
			p := newPipeline(t, on.url(t), false)
			h := p.house
			h.join("ann", "room-1")
			spoil := func(group string, e event.Event) error {
				var sent events.Sent
				if err := e.UnmarshalData(&sent); err != nil {
					return err
				}
				if group == events.GroupChatPersist && sent.Message == "poison" {
					return fault.MarkPermanent(errors.New("spoiled"))
				}
				return nil
			}
			p.spoil.Store(&spoil)
			for _, text := range []string{"1", "poison", "2", "poison", "3"} {
				_, err := h.chat.Send(t.Context(), "ann", "room-1", text)
				require.NoError(t, err)
			}
			committed := p.ledger.of("room-1")
			boxtest.WaitFor(t, "the others", func() bool { return len(h.stored("room-1")) == 3 && len(h.streams.of("room-1")) == 5 })
			letters, err := redrive.New(p.bus, p.letters(events.GroupChatPersist), redrive.Config{})
			require.NoError(t, err)
			boxtest.WaitFor(t, "the dead letters", func() bool {
				list, err := letters.List(t.Context(), redrive.Filter{}, 10)
				return err == nil && len(list.Letters) == 2
			})
			p.spoil.Store(nil)
			done := 0
			boxtest.WaitFor(t, "both to be redriven", func() bool {
				res, err := letters.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
				require.NoError(t, err)
				done += res.Done
				return done >= 2
			})
			conn := h.dial("room-1", "ann", 3)
			h.next(conn, "message")
			h.next(conn, "message")
			want := []string{committed[0], committed[2], committed[4], committed[1], committed[3]}
			if got := idsOf(h.stored("room-1")); !slices.Equal(got, want) {
				t.Errorf("stored %v, want %v", got, want)
			}
			if got := h.streams.of("room-1"); !slices.Equal(got, committed) {
				t.Errorf("handed on %v, want %v, once", got, committed)
			}
		})
	}
}
