package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// muteTimeout bounds how long a change of settings waits for the streams.
const muteTimeout = 2 * time.Second

// Settings are what members want to be sent.
type Settings struct{ *desk }

// Mute stops the sending of notifications to a member's streams, or resumes it. They are
// stored all the same. Streams that miss the change follow when they open again.
func (s *Settings) Mute(ctx context.Context, member string, muted bool) error {
	value := 0
	if muted {
		value = 1
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.sql.AddSettings, member, value); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, s.sql.SetMuted, member, value)
		return err
	})
	if err != nil {
		return fmt.Errorf("inbox: mute: %w", err)
	}
	if s.sender == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, muteTimeout)
	defer cancel()
	if err := s.sender.Mute(ctx, member, muted); err != nil {
		s.counts.failed.Add(1)
	}
	return nil
}

// Muted reports whether a member gets no notifications on the streams.
func (s *Settings) Muted(ctx context.Context, member string) (bool, error) {
	var muted int
	err := s.store.Reader().QueryRowContext(ctx, s.sql.IsMuted, member).Scan(&muted)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("inbox: settings: %w", err)
	}
	return muted == 1, nil
}
