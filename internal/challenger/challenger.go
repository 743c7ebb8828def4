// Package challenger asks users for something before they join, and checks their answers: see
// package queue/challenge, which says what for.
package challenger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/seal"
)

// ErrWrong is the error of an answer that is missing, wrong, late or used: ask again.
var ErrWrong = errors.New("challenge: the answer is not right")

// Later is the error of an answer that was right, for which the accessible way has no
// more room at the moment. The answer stays valid.
type Later struct{ Wait time.Duration }

func (l *Later) Error() string {
	return fmt.Sprintf("challenge: the accessible way is full for %s", l.Wait)
}

// Challenger asks users for something before they join. It is safe for concurrent use.
type Challenger struct {
	cfg     Config
	puzzles *seal.Puzzles
}

// New makes a challenger.
func New(cfg Config) (*Challenger, error) {
	cfg = withDefaults(cfg)
	if err := validate(cfg); err != nil {
		return nil, err
	}
	return &Challenger{cfg: cfg, puzzles: seal.NewPuzzles(cfg.Keys)}, nil
}

// On says whether the challenge of an event is on that no operator has switched.
func (c *Challenger) On(event string) bool { return c.cfg.On(event) }

// Page is the path of the page with the CAPTCHA; empty without one.
func (c *Challenger) Page() string { return c.cfg.Page }

const (
	// lasts is how long a puzzle can be answered.
	lasts = 3 * time.Minute
	// skew is how far the clocks of processes may differ.
	skew = 30 * time.Second
	// proofs is how many numbers a proof has.
	proofs = 16
)

// question is what a client gets.
type question struct {
	Puzzle string `json:"puzzle"`
	Seed   string `json:"seed"` // hexadecimal
	Bits   int    `json:"bits"`
	Proofs int    `json:"proofs"`
	Wait   int    `json:"wait,omitempty"` // s; absent: waiting is no answer
}

// Question is a new question for a user, as JSON; null where Config.Captcha asks.
func (c *Challenger) Question(event, user string) json.RawMessage {
	if c.cfg.Captcha != nil {
		return nil
	}
	puzzle := c.puzzles.Issue(event, user)
	seed := sha256.Sum256([]byte(puzzle))
	q := question{Puzzle: puzzle, Seed: hex.EncodeToString(seed[:]), Bits: c.cfg.Bits, Proofs: proofs}
	if c.cfg.Accessible.Wait > 0 {
		q.Wait = int((c.cfg.Accessible.Wait + time.Second - 1) / time.Second)
	}
	text, err := json.Marshal(q)
	if err != nil { // texts and numbers always can be
		return nil
	}
	return text
}

// Check says whether a user may join by an answer, and uses it up: nil, [ErrWrong], a
// [*Later], or an error of the class infrastructure.
func (c *Challenger) Check(ctx context.Context, event, user, answer string) error {
	kind, rest, _ := strings.Cut(answer, ".")
	switch {
	case kind == "work" && c.cfg.Captcha == nil:
		return c.work(ctx, event, user, rest)
	case kind == "wait" && c.cfg.Captcha == nil && c.cfg.Accessible.Wait > 0:
		return c.wait(ctx, event, user, rest)
	case kind == "token" && c.cfg.Captcha != nil && rest != "":
		return verified(c.cfg.Captcha(ctx, event, user, rest))
	case kind == "code" && c.cfg.Accessible.Code != nil && rest != "":
		if err := c.share(ctx, event); err != nil {
			return err
		}
		return verified(c.cfg.Accessible.Code(ctx, event, user, rest))
	}
	return ErrWrong
}

// verified is the error of a callback.
func verified(err error) error {
	switch {
	case err == nil:
		return nil
	case fault.Of(err) == fault.Infrastructure:
		return fmt.Errorf("challenge: the answer could not be verified: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrWrong, err)
}

func (c *Challenger) work(ctx context.Context, event, user, rest string) error {
	puzzle, proof, _ := strings.Cut(rest, ".")
	at, err := c.puzzles.Open(puzzle, event, user)
	if err != nil {
		return ErrWrong
	}
	if age := time.Since(at); age < -skew || age > lasts || !proven(puzzle, proof, c.cfg.Bits) {
		return ErrWrong
	}
	return c.spend(ctx, puzzle, lasts)
}

func (c *Challenger) wait(ctx context.Context, event, user, puzzle string) error {
	at, err := c.puzzles.Open(puzzle, event, user)
	if err != nil {
		return ErrWrong
	}
	age := time.Since(at)
	if age > c.cfg.Accessible.Wait+lasts {
		return ErrWrong
	}
	if left := c.cfg.Accessible.Wait - age; left > 0 {
		return &Later{left}
	}
	if err := c.share(ctx, event); err != nil {
		return err
	}
	return c.spend(ctx, puzzle, c.cfg.Accessible.Wait+lasts)
}

// spend uses a puzzle up. It is kept for longer than it can be answered.
func (c *Challenger) spend(ctx context.Context, puzzle string, valid time.Duration) error {
	if c.cfg.Limiter.Take(ctx, "spent/"+puzzle, valid+2*skew, 1) > 0 {
		return ErrWrong
	}
	return nil
}

// share takes a join of the accessible way.
func (c *Challenger) share(ctx context.Context, event string) error {
	n := c.cfg.Accessible.PerMinute
	if wait := c.cfg.Limiter.Take(ctx, "accessible/"+event, time.Minute/time.Duration(n), n); wait > 0 {
		return &Later{wait}
	}
	return nil
}
