package social

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sqltx"
)

//go:embed sql/social.sql
var socialSQL string

var (
	// ErrNoComment is returned for an id that names no comment.
	ErrNoComment = errors.New("social: no such comment")
	// ErrNotYours is returned for a comment that another member wrote.
	ErrNotYours = errors.New("social: somebody else wrote the comment")
	// ErrNoMember is returned for a member that never signed in.
	ErrNoMember = errors.New("social: no such member")
	// ErrSelf is returned to a member that would follow itself.
	ErrSelf = errors.New("social: nobody follows themselves")
	// ErrNoVote is returned for a show without a vote.
	ErrNoVote = errors.New("social: no such vote")
	// ErrNoOption is returned for a vote for an unknown option.
	ErrNoOption = errors.New("social: no such option")
	// ErrVoteClosed is returned for a late vote.
	ErrVoteClosed = errors.New("social: the vote is over")
)

// Appender writes events in the caller's transaction: the outbox.
type Appender interface {
	Append(ctx context.Context, tx sqltx.Execer, events ...event.Event) error
}

type statements struct {
	Now, AddComment, Comments, LockComment, DeleteComment string
	Like, Unlike, Liked, Follow, Unfollow, Follows        string
	OpenVote, LockVote, ChangeBallot, AddBallot           string
	CloseVote, NextVote, DueVotes, VoteOf, Choice, Tally  string
	AddLikes, AddSales, AddViews, AddComments             string
}

// Config of a [Social].
type Config struct {
	// Holder names this process in the lease for ending votes; required.
	Holder string
	// Vote is how long a vote lasts from when Open begins it; a week when zero.
	Vote time.Duration
	// LeaseTTL is how long the lease lasts without a renewal; 10 s when zero. A crash
	// delays the end of votes by as much, and comment counts too, unless the same Holder
	// comes back.
	LeaseTTL time.Duration
	// Flush is how often comments are counted; 3 s when zero.
	Flush time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) validate() error {
	switch {
	case c.Vote < 0 || c.LeaseTTL < 0 || c.Flush < 0:
		return errors.New("social: Vote, LeaseTTL and Flush must not be negative; use 0 for the defaults")
	case c.Holder == "":
		return errors.New("social: Holder is empty; name this process")
	}
	return nil
}

// Social is safe for concurrent use.
type Social struct {
	store   *store.Store
	catalog *catalog.Catalog
	outbox  Appender
	cfg     Config
	sql     statements

	changes driver.SQLLog
	applier driver.SQLApplier
	counter *counter.Counter
	flusher *counter.Flusher
}

// New makes a Social on an open store. deltas has the comments that were not counted
// yet.
func New(s *store.Store, c *catalog.Catalog, outbox Appender, deltas driver.Store, cfg Config) (*Social, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Vote == 0 {
		cfg.Vote = 7 * 24 * time.Hour
	}
	if cfg.LeaseTTL == 0 {
		cfg.LeaseTTL = 10 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	x := &Social{store: s, catalog: c, outbox: outbox, cfg: cfg}
	if err := s.Load(socialSQL, &x.sql); err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	if err := x.makeCounter(deltas); err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	return x, nil
}

// now is the database's time, in milliseconds.
func (x *Social) now(ctx context.Context, tx *sql.Tx) (ms int64, err error) {
	err = tx.QueryRowContext(ctx, x.sql.Now).Scan(&ms)
	return ms, err
}

// write runs fn in a transaction and names the attempted action in its error.
func (x *Social) write(ctx context.Context, what string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	err := x.store.Write(ctx, fn)
	if err == nil || known(err) {
		return err
	}
	return fmt.Errorf("social: %s: %w", what, err)
}

// known are the errors that callers distinguish.
func known(err error) bool {
	for _, k := range []error{ErrNoComment, ErrNotYours, ErrNoMember, ErrSelf, ErrNoVote, ErrNoOption, ErrVoteClosed, catalog.ErrNoShow} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}

// once runs an insert that another request may have done before, or does at the same
// moment: then nothing happens, and that is no error.
func (x *Social) once(ctx context.Context, what string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	err := x.write(ctx, what, fn)
	if x.store.IsUnique(err) {
		return nil
	}
	return err
}

// changed runs a statement and returns the number of its rows.
func changed(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func newID() (string, error) {
	id, err := uuid.NewV7() // grows with the time
	if err != nil {
		return "", fmt.Errorf("social: make an id: %w", err)
	}
	return id.String(), nil
}

// list reads one column of text.
func (x *Social) list(ctx context.Context, statement string, args ...any) ([]string, error) {
	all, err := store.Column(ctx, x.store.Reader(), statement, args...)
	if err != nil {
		return nil, fmt.Errorf("social: read: %w", err)
	}
	return all, nil
}
