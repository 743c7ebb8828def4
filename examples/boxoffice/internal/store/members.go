package store

import (
	"context"
	"database/sql"
	"fmt"
)

// KnowsMember reports whether a member has signed in before.
func (s *Store) KnowsMember(ctx context.Context, id string) (bool, error) {
	var n int
	if err := s.reader.QueryRowContext(ctx, s.sql.KnowsMember, id).Scan(&n); err != nil {
		return false, fmt.Errorf("store: look for member %s: %w", id, err)
	}
	return n > 0, nil
}

// AddMember remembers a member, inside tx.
func (s *Store) AddMember(ctx context.Context, tx *sql.Tx, id string) error {
	if _, err := tx.ExecContext(ctx, s.sql.AddMember, id); err != nil {
		return fmt.Errorf("store: add member %s: %w", id, err)
	}
	return nil
}
