package chat_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sqltx"
)

const (
	rooms   = 20
	writers = 20 // of each room
	each    = 2  // messages of a writer
)

// ledger records the order in which messages were committed. An append holds its room
// until the commit, so the order of the appends is that of the commits.
type ledger struct {
	outbox store.Appender

	mu        sync.Mutex
	appended  map[string][]string // by room
	committed map[string]bool
}

func (l *ledger) Append(ctx context.Context, tx sqltx.Execer, all ...event.Event) error {
	if err := l.outbox.Append(ctx, tx, all...); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range all {
		l.appended[e.AggregateID] = append(l.appended[e.AggregateID], e.ID)
	}
	sqltx.AfterCommit(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, e := range all {
			l.committed[e.ID] = true
		}
	})
	return nil
}

// of are the committed messages of a room in their order.
func (l *ledger) of(room string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.appended[room]), func(id string) bool { return !l.committed[id] })
}

// Stored messages, alerts of live streams and messages of sockets have the order of
// the commits in each room, on every transport, also when the relay publishes
// everything twice. One socket stays, the other reconnects after every few messages.
func TestOrder(t *testing.T) {
	for _, on := range transports {
		t.Run(on.name, func(t *testing.T) {
			url := on.url(t)
			p := newPipeline(t, url, true)
			h := p.house
			var working sync.WaitGroup
			got := make([][2][]string, rooms)
			for n := range rooms {
				room := fmt.Sprintf("room-%d", n+1)
				for w := range writers {
					h.join(fmt.Sprintf("m-%d", w), room)
				}
				for reader, some := range []int{rooms * writers * each, 7} {
					working.Go(func() { got[n][reader] = h.readAll(t, room, writers*each, some) })
				}
			}
			for n := range rooms {
				for w := range writers {
					working.Go(func() {
						for i := range each {
							_, err := h.chat.Send(t.Context(), fmt.Sprintf("m-%d", w), fmt.Sprintf("room-%d", n+1), fmt.Sprintf("%d", i))
							assert.NoError(t, err)
						}
					})
				}
			}
			working.Wait()
			for n := range rooms {
				room := fmt.Sprintf("room-%d", n+1)
				committed := p.ledger.of(room)
				boxtest.WaitFor(t, "the live streams of "+room, func() bool { return len(h.streams.of(room)) == len(committed) },
					func() string { return fmt.Sprintf("%d of %d", len(h.streams.of(room)), len(committed)) })
				for what, ids := range map[string][]string{
					"stored": idsOf(h.stored(room)), "on the live streams": h.streams.of(room), "on the open socket": got[n][0], "on the socket that comes back": got[n][1],
				} {
					if len(committed) != writers*each || !slices.Equal(ids, committed) {
						t.Errorf("%s: %d %s are not the %d committed, in their order", room, len(ids), what, len(committed))
					}
				}
			}
			if p.doubled.Load() == 0 {
				t.Error("nothing was published twice")
			}
		})
	}
}

// readAll reads a room to its end by sockets that each read some messages.
func (h *house) readAll(t *testing.T, room string, all, some int) (ids []string) {
	for at := int64(0); at < int64(all) && t.Context().Err() == nil; {
		conn, err := h.tryDial(t.Context(), room, "reader", at)
		if err != nil {
			t.Error(err)
			return ids
		}
		for range some {
			f, err := hear(t.Context(), conn)
			if err != nil {
				t.Error(err)
				return ids
			}
			if f.Type == "message" {
				ids, at = append(ids, f.ID), f.Seq
			}
			if at == int64(all) {
				break
			}
		}
		_ = conn.CloseNow()
	}
	return ids
}
