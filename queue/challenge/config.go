package challenge

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/queue/token"
)

// Taker bounds the calls of keys: see package ratelimit/keyed, whose limiter is one.
type Taker interface {
	Take(ctx context.Context, key string, every time.Duration, burst int) (wait time.Duration)
}

// Config of a challenge, for Config.Challenge of packages queuehttp and gate. Keys and Limiter
// are required.
type Config struct {
	// Keys sign the puzzles; those of the room will do. All processes need the same.
	Keys *token.Ring
	// Limiter remembers the used proofs, and the share of the accessible way. Processes
	// that share a room should share it.
	Limiter Taker
	// On says whether the challenge of an event is on that no operator has switched: see
	// queue.Room.SetChallenge. It is asked at each join, and so must be fast. nil means that
	// it is on.
	On func(event string) bool
	// Bits are those of the proof of work, 1 to 24; 12 by default. Each further one
	// doubles the work.
	Bits int
	// Captcha verifies an answer to the operator's CAPTCHA, and replaces the proof of
	// work. An error of the class infrastructure is an outage; any other means that the
	// answer is wrong.
	Captcha func(ctx context.Context, event, user, answer string) error
	// Page is the path of the operator's page with the CAPTCHA, required with it. It sets
	// the answer as a cookie (see package queuehttp) and leads back to the page that it
	// was opened from.
	Page string
	// Accessible is the way round.
	Accessible Accessible
}

// Accessible is the way of users that the challenge would keep out. Its zero value lets
// them in after 30 s, 60 in a minute.
type Accessible struct {
	// Wait is how long a user waits in place of a proof of work; 30 s by default, at
	// most 10 min. Negative: no user may.
	Wait time.Duration
	// Code verifies a code that a user has got from the operator, by mail or by phone;
	// nil takes none. It should accept a code once.
	Code func(ctx context.Context, event, user, code string) error
	// PerMinute is how many users may join this way in a minute, in each event; 60 by
	// default.
	PerMinute int
}
