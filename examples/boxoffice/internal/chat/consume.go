package chat

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sqltx"
	"github.com/millrace-go/millrace/sse"
)

// EventName is the name of the events on the live streams.
const EventName = "chat"

// Workers store the messages and announce them.
type Workers struct {
	store   *store.Store
	sql     *statements
	bells   *bells
	alerts  *alerts
	streams *streams
	counts  *counts
}

// Consumers are the worker that stores and the one that announces. Each has a queue
// of its own, so that neither waits for the other.
func (w *Workers) Consumers() []store.Consumer {
	gaveUp := func() { w.counts.deadLettered.Add(1) }
	return []store.Consumer{
		{Topic: events.Domain, Group: events.GroupChatPersist, GaveUp: gaveUp, Handlers: map[string]store.Handler{
			events.ChatMessageSent: w.persist,
		}},
		{Topic: events.Domain, Group: events.GroupChatFanout, GaveUp: gaveUp, Handlers: map[string]store.Handler{
			events.ChatMessageSent: w.fanOut,
		}},
	}
}

// persist stores the message, and counts the outcome.
func (w *Workers) persist(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	effect, err := w.keep(ctx, tx, e)
	if err != nil {
		w.counts.failed.Add(1)
	}
	return effect, err
}

// keep gives the message the next place in its room. It locks the room's row until
// the commit, so a reader that sees a place sees all before it.
func (w *Workers) keep(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	sent, err := sentBy(e)
	if err != nil {
		return "", err
	}
	var n int
	if err := tx.QueryRowContext(ctx, w.sql.Stored, e.ID).Scan(&n); err != nil {
		return "", fmt.Errorf("chat: store %s: %w", e.ID, err)
	}
	if n > 0 {
		return "already stored", nil // and its key was forgotten since
	}
	var seq int64
	err = w.store.Update(ctx, tx, w.sql.Next, []any{sent.RoomID}, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fault.MarkPermanent(fmt.Errorf("%w: %s of %s", ErrNoRoom, sent.RoomID, e.ID))
	}
	if err != nil {
		return "", fmt.Errorf("chat: store %s: %w", e.ID, err)
	}
	if _, err := tx.ExecContext(ctx, w.sql.Keep, sent.RoomID, seq, e.ID, sent.SenderID, sent.Message, sent.SentAt.UnixMilli()); err != nil {
		return "", fmt.Errorf("chat: store %s: %w", e.ID, err)
	}
	afterCommit(ctx, func() {
		w.counts.stored.Add(1)
		w.bells.ring(sent.RoomID)
	})
	return "stored", nil
}

// fanOut sends the message to the live streams of the room's members, and notifies
// the sockets once more.
func (w *Workers) fanOut(ctx context.Context, _ *sql.Tx, e event.Event) (string, error) {
	sent, err := sentBy(e)
	if err != nil {
		return "", err
	}
	told, err := alertOf(e.ID, sent.RoomID, sent.SenderID, sent.Message)
	if err != nil {
		return "", fault.MarkPermanent(err)
	}
	told.At = sent.SentAt
	waits := alert{sent.RoomID, told, trace.SpanContextFromContext(ctx)}
	afterCommit(ctx, func() {
		w.bells.ring(sent.RoomID)
		if w.streams.sender != nil && !w.alerts.add(waits) {
			w.counts.dropped.Add(1)
		}
	})
	return "handed on", nil
}

// sentBy parses and checks an untrusted message of a sender.
func sentBy(e event.Event) (events.Sent, error) {
	var sent events.Sent
	if err := e.UnmarshalData(&sent); err != nil {
		return sent, fault.MarkPermanent(err)
	}
	if sent.RoomID == "" || sent.RoomID != e.AggregateID || sent.SenderID == "" || !isText(sent.Message) {
		return sent, fault.MarkPermanent(fmt.Errorf("chat: %s %s is no message of a room", e.Type, e.ID))
	}
	return sent, nil
}

func alertOf(id, room, sender, text string) (sse.Event, error) {
	body, err := json.Marshal(struct {
		RoomID   string `json:"roomId"`
		SenderID string `json:"senderId"`
		Message  string `json:"message"`
	}{room, sender, text})
	if err != nil {
		return sse.Event{}, fmt.Errorf("chat: %w", err)
	}
	return sse.Event{Name: EventName, ID: id, Data: body}, nil
}

func afterCommit(ctx context.Context, fn func()) {
	if !sqltx.AfterCommit(ctx, fn) {
		fn() // no commit to wait for
	}
}
