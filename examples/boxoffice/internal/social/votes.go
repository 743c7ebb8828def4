package social

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Options are the songs that a vote on a setlist is about.
func Options() []string {
	return []string{"First Light", "Paper Lanterns", "Northbound", "Slow Tide", "One More Song"}
}

// Poll is the state of a vote. ClosedAt is zero until the voters were notified.
type Poll struct {
	ShowID             string
	Open               bool
	ClosesAt, ClosedAt time.Time
	Choice             string // the member's own; "" for none
	Tally              []Tally
}

// Tally is how many voted for an option.
type Tally struct {
	Option string
	Votes  int64
}

// Votes are on the setlists of the shows.
type Votes struct {
	*desk
	cfg Config
}

// Vote casts the member's ballot for one of the [Options], or changes it while the
// vote is open.
func (v *Votes) Vote(ctx context.Context, member, show, option string) error {
	if !slices.Contains(Options(), option) {
		return ErrNoOption
	}
	cast := func(ctx context.Context, tx *sql.Tx) error {
		if _, err := v.catalog.Title(ctx, tx, show); err != nil {
			return err
		}
		over, at, err := v.lockVote(ctx, tx, show)
		if err != nil {
			return err
		}
		if over {
			return ErrVoteClosed
		}
		n, err := changed(ctx, tx, v.sql.ChangeBallot, show, member, option)
		if err != nil || n > 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, v.sql.AddBallot, show, member, option, at)
		return err
	}
	return v.write(ctx, "vote", cast)
}

// lockVote finds a vote and locks it: ballots of one show are cast one after the
// other, and none while it ends.
func (v *Votes) lockVote(ctx context.Context, tx *sql.Tx, show string) (over bool, at int64, err error) {
	err = tx.QueryRowContext(ctx, v.sql.LockVote, show).Scan(&over, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return false, 0, ErrNoVote
	}
	return over, at, err
}

// Open begins the vote of each show that never had one.
func (v *Votes) Open(ctx context.Context) error {
	shows, err := v.catalog.Shows(ctx)
	if err != nil {
		return err
	}
	return v.write(ctx, "open votes", func(ctx context.Context, tx *sql.Tx) error {
		for _, show := range shows {
			if _, err := tx.ExecContext(ctx, v.sql.OpenVote, show.ID, v.cfg.Vote.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close ends a vote before its time, and has the voters notified. Closing it twice is
// harmless.
func (v *Votes) Close(ctx context.Context, show string) error {
	return v.write(ctx, "close the vote", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := v.catalog.Title(ctx, tx, show); err != nil {
			return err
		}
		if _, _, err := v.lockVote(ctx, tx, show); err != nil {
			return err
		}
		return v.close(ctx, tx, show)
	})
}

// close ends a vote that is locked.
func (v *Votes) close(ctx context.Context, tx *sql.Tx, show string) error {
	var at int64
	err := v.store.Update(ctx, tx, v.sql.CloseVote, []any{show}, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it is over
	}
	if err != nil {
		return err
	}
	title, err := v.catalog.Title(ctx, tx, show)
	if err != nil {
		return err
	}
	tally, err := v.tally(ctx, tx, show)
	if err != nil {
		return err
	}
	closed, err := notice(events.VoteClosed, show, "", show, events.NoticeParams{Show: title, Songs: won(tally)}, at)
	if err != nil {
		return err
	}
	return v.outbox.Append(ctx, tx, closed)
}

// won names the options with the most votes; none without votes.
func won(tally []Tally) (first []string) {
	var most int64
	for _, t := range tally {
		switch {
		case t.Votes > most:
			most, first = t.Votes, []string{t.Option}
		case t.Votes == most:
			first = append(first, t.Option)
		}
	}
	if most == 0 {
		return nil
	}
	return first
}

// tally counts the ballots, for all options in their order.
func (v *Votes) tally(ctx context.Context, q store.Querier, show string) ([]Tally, error) {
	votes := map[string]int64{}
	err := store.Each(ctx, q, v.sql.Tally, []any{show}, func(row *sql.Rows) error {
		var option string
		var n int64
		err := row.Scan(&option, &n)
		votes[option] = n
		return err
	})
	all := make([]Tally, len(Options()))
	for i, option := range Options() {
		all[i] = Tally{Option: option, Votes: votes[option]}
	}
	return all, err
}

// Poll returns the state of a show's vote; member may be "".
func (v *Votes) Poll(ctx context.Context, member, show string) (Poll, error) {
	if err := v.catalog.Exists(ctx, show); err != nil {
		return Poll{}, err
	}
	p := Poll{ShowID: show}
	var closes, closed int64
	var over bool
	db := v.store.Reader()
	switch err := db.QueryRowContext(ctx, v.sql.VoteOf, show).Scan(&closes, &closed, &over); {
	case errors.Is(err, sql.ErrNoRows):
		return Poll{}, ErrNoVote
	case err != nil:
		return Poll{}, fmt.Errorf("social: read the vote on %s: %w", show, err)
	default:
		p.Open, p.ClosesAt = !over, events.Time(closes)
	}
	if closed > 0 {
		p.ClosedAt = events.Time(closed)
	}
	err := db.QueryRowContext(ctx, v.sql.Choice, show, member).Scan(&p.Choice)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Poll{}, fmt.Errorf("social: read the vote on %s: %w", show, err)
	}
	if p.Tally, err = v.tally(ctx, db, show); err != nil {
		return Poll{}, fmt.Errorf("social: read the vote on %s: %w", show, err)
	}
	return p, nil
}
