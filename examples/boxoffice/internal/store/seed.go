package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // a machine may have no time zones
)

// The hall that every show plays in: rows A to T, 25 seats each.
const (
	Rows        = 20
	SeatsPerRow = 25
)

// seeded is a show as the first start makes it.
type seeded struct {
	id, title, venue, city string
	days, hour, minute     int // the start: days after the first start of the box office, by the clock of the venue
	performers             []string
}

// zone is the time zone of all venues.
const zone = "Asia/Seoul"

// doorsBefore is how long before the start the doors open.
const doorsBefore = time.Hour

func shows() []seeded {
	return []seeded{
		{"show-1", "Moonlight Parade", "Han River Hall", "Seoul", 14, 19, 30, []string{"42", "113"}},
		{"show-2", "The Paper Kites of Busan", "Harbour Theatre", "Busan", 21, 18, 0, []string{"1004"}},
		{"show-3", "Night Train to Gangneung", "Pine Beach Stage", "Gangneung", 30, 20, 0, []string{"2025", "5151"}},
		{"show-4", "A Hundred Small Drums", "The Drum House", "Jeonju", 45, 17, 0, []string{"9997", "42"}},
		{"show-5", "Winter, Unplugged", "Snowfield Arena", "Pyeongchang", 60, 19, 0, []string{"113", "1004", "2025"}},
	}
}

// class is a class of seats: the rows before end that no class before it has.
type class struct {
	name  string
	end   int
	price int64 // in won
}

func classes() []class {
	return []class{{"VIP", 5, 150_000}, {"R", 12, 120_000}, {"S", Rows, 90_000}}
}

// price of a seat in won, by its row from the stage.
func price(row int) int64 {
	all := classes()
	return all[slices.IndexFunc(all, func(c class) bool { return row < c.end })].price
}

// seed makes the missing shows, their seats, and their facts. A complete show costs
// one read.
func (s *Store) seed(ctx context.Context) error {
	made := false
	for i, show := range shows() {
		var seats int
		var billed bool
		if err := s.reader.QueryRowContext(ctx, s.sql.Seeded, show.id).Scan(&seats, &billed); err != nil {
			return fmt.Errorf("store: look for %s: %w", show.id, err)
		}
		if seats >= Rows*SeatsPerRow && billed {
			continue
		}
		err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, s.sql.AddShow, show.id, show.title, i+1); err != nil {
				return err
			}
			if seats < Rows*SeatsPerRow {
				if err := s.seedSeats(ctx, tx, show.id); err != nil {
					return err
				}
			}
			return s.bill(ctx, tx, show)
		})
		if err != nil {
			return fmt.Errorf("store: make %s: %w", show.id, err)
		}
		made = true
	}
	if made && s.dialect.filled != "" {
		if _, err := s.writer.ExecContext(ctx, s.dialect.filled); err != nil {
			return fmt.Errorf("store: after the shows were made: %w", err)
		}
	}
	return nil
}

func (s *Store) seedSeats(ctx context.Context, tx *sql.Tx, show string) error {
	for row := range Rows {
		args := make([]any, 0, 4*SeatsPerRow)
		for n := range SeatsPerRow {
			args = append(args, show, fmt.Sprintf("%c-%d", 'A'+row, n+1), row*SeatsPerRow+n+1, price(row))
		}
		if _, err := tx.ExecContext(ctx, s.sql.AddSeats, args...); err != nil {
			return err
		}
	}
	return nil
}

// bill sets the time, place, performers and prices of a show, unless they are known
// already: the dates count from the first start.
func (s *Store) bill(ctx context.Context, tx *sql.Tx, show seeded) error {
	place, err := time.LoadLocation(zone)
	if err != nil {
		return err
	}
	var now int64
	if err := tx.QueryRowContext(ctx, s.sql.Now).Scan(&now); err != nil {
		return err
	}
	today := time.UnixMilli(now).In(place)
	starts := time.Date(today.Year(), today.Month(), today.Day()+show.days, show.hour, show.minute, 0, 0, place)
	res, err := tx.ExecContext(ctx, s.sql.Bill, show.id, show.venue, show.city, zone, starts.Add(-doorsBefore).UnixMilli(), starts.UnixMilli())
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	for _, c := range classes() {
		if _, err := tx.ExecContext(ctx, s.sql.AddClass, show.id, c.name, c.price); err != nil {
			return err
		}
	}
	for i, artist := range show.performers {
		if _, err := tx.ExecContext(ctx, s.sql.AddPerformer, show.id, artist, i+1); err != nil {
			return err
		}
	}
	return nil
}
