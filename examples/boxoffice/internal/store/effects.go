package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/event"
)

// Handler is the reaction of a part of the business to an event: its effect on the
// database, inside tx, and the name of that effect in the audit trail. An event that
// changes nothing has an effect too, such as "late".
type Handler func(ctx context.Context, tx *sql.Tx, e event.Event) (effect string, err error)

// BatchHandler is a Handler of many events at once, none of which was handled before.
// They share their effect.
type BatchHandler func(ctx context.Context, tx *sql.Tx, all []event.Event) (effect string, err error)

// Consumer is a group's handlers by type of event, or its handler of batches. It does
// not handle other types.
type Consumer struct {
	Topic, Group string
	Handlers     map[string]Handler
	// Batch, when set, handles events of the BatchTypes instead of Handlers. Check
	// returns an error for an event that can never be handled; nothing is checked when
	// it is nil.
	Batch      BatchHandler
	BatchTypes []string
	Check      func(e event.Event) error
	// Wait is that of a bus.BatchConsumer.
	Wait time.Duration
	// Key names the effect of an event: events of one key are handled once. When Key is
	// nil, the key is the event's id.
	Key func(group string, e event.Event) (string, error)
	// GaveUp, when set, is called for each message that became a dead letter.
	GaveUp func()
}

// RecordEffects writes a line of the audit trail for each event inside tx.
func (s *Store) RecordEffects(ctx context.Context, tx *sql.Tx, group, effect string, all ...event.Event) error {
	var args []any
	for _, e := range all {
		args = append(args, group, e.ID, e.Type, e.AggregateID, effect)
	}
	if err := Insert(ctx, tx, s.sql.RecordEffect, len(all), args); err != nil {
		return fmt.Errorf("store: record the effects of %d events on %s, of %s first: %w", len(all), group, all[0].ID, err)
	}
	return nil
}
