package store

import (
	"context"
	"database/sql"
	"fmt"
)

// The hall that every show plays in: rows A to T, 25 seats each.
const (
	Rows        = 20
	SeatsPerRow = 25
)

// shows are made on the first start.
var shows = []struct{ id, title string }{
	{"show-1", "Moonlight Parade"},
	{"show-2", "The Paper Kites of Busan"},
	{"show-3", "Night Train to Gangneung"},
	{"show-4", "A Hundred Small Drums"},
	{"show-5", "Winter, Unplugged"},
}

// price of a seat in won, by its row from the stage.
func price(row int) int64 {
	switch {
	case row < 5:
		return 150_000
	case row < 12:
		return 120_000
	}
	return 90_000
}

// seed makes what is missing of the shows and their seats. A show with all its
// seats costs one read.
func (s *Store) seed(ctx context.Context) error {
	for i, show := range shows {
		var seats int
		if err := s.reader.QueryRowContext(ctx, s.sql.CountSeats, show.id).Scan(&seats); err != nil {
			return fmt.Errorf("store: count the seats of %s: %w", show.id, err)
		}
		if seats >= Rows*SeatsPerRow {
			continue
		}
		err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, s.sql.AddShow, show.id, show.title, i+1); err != nil {
				return err
			}
			for row := range Rows {
				args := make([]any, 0, 4*SeatsPerRow)
				for n := range SeatsPerRow {
					args = append(args, show.id, fmt.Sprintf("%c-%d", 'A'+row, n+1), row*SeatsPerRow+n+1, price(row))
				}
				if _, err := tx.ExecContext(ctx, s.sql.AddSeats, args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("store: make %s: %w", show.id, err)
		}
	}
	return nil
}
