package txbus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill"
	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sqltx"
)

const (
	opTimeout = 30 * time.Second
	// chunk is how many messages are in one statement: each has three parameters, and a
	// statement may have 65,535.
	chunk = 1000
	// maxUUID is the width of Watermill SQL's column.
	maxUUID = 36
)

// publisher is Watermill SQL's, in the application's transaction if the first message's context
// carries one.
type publisher struct{ *Driver }

// Publish returns when the messages are committed, all of them or none, or when
// they are part of the transaction that the first message's context carries.
func (p publisher) Publish(topic string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if err := p.publish(topic, messages); err != nil {
		return p.translate(fmt.Errorf("publish to %s: %w", topic, err))
	}
	return nil
}

func (p publisher) publish(topic string, messages []*message.Message) error {
	for _, m := range messages {
		if err := check(m); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(messages[0].Context(), opTimeout)
	defer cancel()
	if err := p.prepare(ctx, topic); err != nil {
		return err
	}
	if err := p.pools.Look(ctx); err != nil {
		return fmt.Errorf("compare Config.DB: %w", err)
	}
	insert := func(ctx context.Context, tx *sql.Tx) error { return p.insert(ctx, tx, topic, messages) }
	pool := p.own
	if p.pools.Joins(ctx) {
		pool = p.App
	}
	if _, ok := sqltx.On(ctx, pool); ok {
		// A message can outlive the transaction in its context.
		if err := sqltx.Do(ctx, pool, insert); !errors.Is(err, sqltx.ErrEnded) {
			return err
		}
	}
	if len(messages) <= chunk {
		return p.insert(ctx, p.DB, topic, messages)
	}
	return sqltx.Do(ctx, p.DB, insert)
}

// within executes with a context, because Watermill's publisher gives none to its statements.
type within struct {
	wmsql.ContextExecutor
	ctx context.Context
}

func (w within) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	return w.ContextExecutor.ExecContext(w.ctx, query, args...)
}

func (p publisher) insert(ctx context.Context, x wmsql.ContextExecutor, topic string, messages []*message.Message) error {
	inner, err := wmsql.NewPublisher(within{x, ctx}, wmsql.PublisherConfig{SchemaAdapter: p.Dialect.Schema()}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(messages, chunk) {
		if err := inner.Publish(topic, some...); err != nil {
			return err
		}
	}
	return nil
}

// check refuses values that the tables would silently change.
func check(m *message.Message) error {
	if !utf8.ValidString(m.UUID) || utf8.RuneCountInString(m.UUID) > maxUUID {
		return fault.MarkPermanent(fmt.Errorf("the id %.60q is longer than %d characters, or not UTF-8", m.UUID, maxUUID))
	}
	for name, value := range m.Metadata {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return fault.MarkPermanent(fmt.Errorf("message %s: the metadata %q is not UTF-8", m.UUID, name))
		}
	}
	return nil
}

// Close does nothing: the publisher belongs to the driver.
func (publisher) Close() error { return nil }
