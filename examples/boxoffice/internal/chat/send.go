package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Posts accept the messages of members.
type Posts struct {
	store   *store.Store
	outbox  store.Appender
	sql     *statements
	members *Members
	counts  *counts
}

// Send accepts a message and returns its id. The message is stored and announced
// later, in the order in which the messages of the room were committed.
func (p *Posts) Send(ctx context.Context, member, room, text string) (id string, err error) {
	if err := p.members.Exists(ctx, room); err != nil {
		return "", err
	}
	text = strings.TrimSpace(text)
	if !isText(text) {
		return "", ErrText
	}
	err = p.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		id, err = p.send(ctx, tx, member, room, text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("chat: send to %s: %w", room, err)
	}
	p.counts.sent.Add(1)
	return id, nil
}

// send locks the room: two messages of one room are never committed at once, so that
// their order in the outbox is certain.
func (p *Posts) send(ctx context.Context, tx *sql.Tx, member, room, text string) (string, error) {
	var last int64
	err := tx.QueryRowContext(ctx, p.sql.Lock, room).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) { // no member ever joined
		return "", ErrNotJoined
	}
	if err != nil {
		return "", err
	}
	var in int
	if err := tx.QueryRowContext(ctx, p.sql.IsMember, room, member).Scan(&in); err != nil {
		return "", err
	}
	if in == 0 {
		return "", ErrNotJoined
	}
	e, err := events.New(events.ChatMessageSent, "chat", room, member, false, events.Sent{
		RoomID: room, SenderID: member, Message: text, SentAt: time.Now().UTC().Truncate(time.Millisecond),
	})
	if err != nil {
		return "", err
	}
	return e.ID, p.outbox.Append(ctx, tx, e)
}

// isText reports whether s is a valid message. Databases refuse some control
// characters and pages show none.
func isText(s string) bool {
	if s == "" || !utf8.ValidString(s) || utf8.RuneCountInString(s) > MaxText {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}
