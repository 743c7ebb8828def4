package heldseats

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

const sweepLease = "held-seats"

// Sweep repairs the copy until ctx ends, while this process has the lease of that job. It
// returns nil.
func (m *Mirror) Sweep(ctx context.Context) error {
	return m.seats.NewJob(sweepLease, m.cfg.Holder, m.cfg.Every, m.cfg.Logger).Run(ctx, store.Work{
		Next: m.sql.NextDue,
		Do: func(ctx context.Context, lease store.Lease) (bool, error) {
			return false, m.Repair(ctx, lease) // the whole work: the next is due later
		},
	})
}

// Repair makes the copy equal to the database, once. It fails with store.ErrLeaseLost, or
// because of the database. An unreachable copy is left to the next time.
func (m *Mirror) Repair(ctx context.Context, lease store.Lease) error {
	shows, err := store.Column(ctx, m.seats.Reader(), m.sql.Shows)
	if err != nil {
		return fmt.Errorf("heldseats: shows: %w", err)
	}
	copied, away := m.read(ctx, shows)
	// The copy was read first: a hold in it that the database does not have has ended.
	held := map[string]map[string]string{}
	err = m.seats.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lease.Keep(ctx, tx, m.cfg.Every); err != nil || away != nil {
			return err
		}
		var err error
		held, err = m.held(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("heldseats: repair: %w", err)
	}
	for i := 0; i < len(shows) && away == nil; i++ {
		away = m.change(ctx, shows[i], difference(copied[shows[i]], held[shows[i]])...)
	}
	m.report(ctx, away)
	return nil
}

func (m *Mirror) read(ctx context.Context, shows []string) (map[string]map[string]string, error) {
	copied := map[string]map[string]string{}
	for _, show := range shows {
		bounded, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
		seats, err := m.copy.Read(bounded, show)
		cancel()
		if err != nil {
			return nil, err
		}
		copied[show] = seats
	}
	return copied, nil
}

// held are the reservations of all held seats, by show and seat.
func (m *Mirror) held(ctx context.Context, tx *sql.Tx) (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	return all, store.Each(ctx, tx, m.sql.Held, nil, func(row *sql.Rows) error {
		var show, seat, reservation string
		err := row.Scan(&show, &seat, &reservation)
		if all[show] == nil {
			all[show] = map[string]string{}
		}
		all[show][seat] = reservation
		return err
	})
}

// difference are the changes that turn one into the other. Each applies only while the
// seat is unchanged: a booking that was written meanwhile is newer.
func difference(from, to map[string]string) (changes []Change) {
	for seat, reservation := range to {
		if from[seat] != reservation {
			changes = append(changes, Change{Seat: seat, Was: from[seat], Now: reservation})
		}
	}
	for seat, reservation := range from {
		if to[seat] == "" {
			changes = append(changes, Change{Seat: seat, Was: reservation})
		}
	}
	return changes
}
