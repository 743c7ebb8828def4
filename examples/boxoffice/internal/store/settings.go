package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/queue"
)

// RoomSettings keep what operators set for the waiting rooms, with all that was set
// before.
type RoomSettings struct{ store *Store }

var _ queue.Settings = RoomSettings{}

// RoomSettings are those of the database.
func (s *Store) RoomSettings() RoomSettings { return RoomSettings{s} }

// Load returns the last setting of an event; see [queue.Settings].
func (r RoomSettings) Load(ctx context.Context, event string) (queue.Setting, error) {
	s, err := r.last(ctx, r.store.reader.QueryRowContext, event)
	if err != nil {
		return queue.Setting{}, fmt.Errorf("store: load the settings of room %s: %w", event, err)
	}
	return s, nil
}

type query func(ctx context.Context, text string, args ...any) *sql.Row

func (r RoomSettings) last(ctx context.Context, ask query, event string) (s queue.Setting, err error) {
	var (
		version int64
		text    string
	)
	err = ask(ctx, r.store.sql.LastSetting, event).Scan(&version, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return queue.Setting{}, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	s.Version = version
	return s, err
}

// Save adds a setting that follows the last; see [queue.Settings].
func (r RoomSettings) Save(ctx context.Context, event string, s queue.Setting) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = r.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			last, err := r.last(ctx, tx.QueryRowContext, event)
			if err == nil && last.Version != s.Version-1 {
				return queue.ErrConflict
			}
			if err == nil {
				_, err = tx.ExecContext(ctx, r.store.sql.AddSetting, event, s.Version, string(text), s.By, s.Why)
			}
			return err
		})
	}
	if err != nil && r.store.dialect.isUnique(err) {
		err = queue.ErrConflict
	}
	switch {
	case errors.Is(err, queue.ErrConflict):
		return fmt.Errorf("store: save version %d of the settings of room %s: %w", s.Version, event, err)
	case err != nil:
		return fmt.Errorf("store: save the settings of room %s: %w", event, err)
	}
	return nil
}
