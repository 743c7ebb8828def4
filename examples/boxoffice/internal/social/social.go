package social

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

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

// Social is put together here of the parts that have its methods. It is safe for
// concurrent use.
type Social struct {
	*Discussion
	*Counts
	*Likes
	*Followers
	*Views
	*Votes
	*Tallies
}

// New makes a Social on an open store. deltas has the comments that were not counted
// yet.
func New(s *store.Store, c *catalog.Catalog, outbox store.Appender, deltas driver.Store, cfg Config) (*Social, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Vote = cmp.Or(cfg.Vote, 7*24*time.Hour)
	cfg.LeaseTTL = cmp.Or(cfg.LeaseTTL, 10*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	d := &desk{store: s, catalog: c, outbox: outbox}
	if err := s.Load(socialSQL, &d.sql); err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	counts, err := newCounts(d, deltas, cfg)
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	return &Social{
		Discussion: &Discussion{d, counts.changes},
		Counts:     counts,
		Likes:      &Likes{d},
		Followers:  &Followers{d},
		Views:      &Views{d},
		Votes:      &Votes{d, cfg},
		Tallies:    &Tallies{d, counts, cfg.Logger},
	}, nil
}
