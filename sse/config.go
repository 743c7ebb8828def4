package sse

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/sse/driver"
)

// Config is the configuration of a [Hub]. The zero value works. All processes
// that share a [driver.Cap] should have the same.
type Config struct {
	// Max is how many streams a member may have, over all processes; 3 by default.
	// One more ends the oldest whose client is still there.
	Max int
	// Streams is how many streams a process serves at once; 100,000 by default.
	// Beyond it a client is answered as in an outage of the Cap, and comes back.
	Streams int
	// PerAddress is how many streams may have one [Stream.Address]; 1,000 by default.
	PerAddress int
	// Lifetime is how long a stream lives at most; 30 min by default. Each ends
	// after nine tenths of it and a random part of the rest, and its client comes
	// back. So load moves to new processes, and locked-out members are cut off.
	Lifetime time.Duration
	// Ping is how often each stream gets a `ping` event, and is looked up in the
	// Cap; 20 s by default. It costs a write for each stream, and a call of the Cap
	// for each 500.
	Ping time.Duration
	// WriteTimeout is how long one write to a client may take before the client is
	// cut; 10 s by default. A write soon after another may have a quarter less. The
	// server's own WriteTimeout does not apply to streams.
	WriteTimeout time.Duration
	// MaxFrames and MaxBytes bound the pending frames of one client; 256 frames and
	// 256 KiB by default. A client with more is cut. As much again may be in the
	// write in flight.
	MaxFrames int
	MaxBytes  int
	// Lean serves HTTP/1.1 over TCP without a goroutine for each stream; false by
	// default. The package's documentation lists the differences.
	Lean bool
	// Coalesce is how long a stream's first frame waits for more to share its write;
	// 2 ms by default, at most 5 ms.
	Coalesce time.Duration
	// Lease is how long an instance counts as alive without a renewal; 15 s by
	// default. It is renewed every third of it. An instance that could not renew it
	// ends its streams when five sixths of it are over.
	Lease time.Duration
	// Timeout bounds a call of the Cap and the Broker; 1 s by default, at most a
	// third of the Lease. Other processes that are asked about a member's streams
	// have half of it to answer.
	Timeout time.Duration
	// ReplayTimeout bounds a call of a Replayer; 5 s by default.
	ReplayTimeout time.Duration
	// Resyncs is how many streams are brought up to date at a time after an outage
	// of the broker; 4 by default.
	Resyncs int
	// Retry is the time after which a client comes back to a stream that was cut; 3
	// s by default.
	Retry time.Duration
	// Spread is the time over which clients come back that were all sent away at
	// once; 10 s by default. A longer one is gentler to the other processes and
	// leaves clients without a stream for longer.
	Spread time.Duration
	// Inbox is the address where a client reads missed events while there are no
	// streams; "/" by default.
	Inbox string
	// Cursors are the names of the events that have an id, each with a place of its
	// own in a client's Last-Event-ID; "notification" and "chat" by default. A plain
	// id is one of the first.
	Cursors []string
	// Muted are the names of the events that a muted member does not get;
	// "notification" by default.
	Muted []string
	// Browser says whether a request comes from an EventSource, which stops for
	// good when it is answered 503. By default those that accept text/event-stream
	// and have a Sec-Fetch-Mode.
	Browser func(*http.Request) bool
	// Random is a random number in [0, 1) for spread times; math/rand/v2's by default.
	Random func() float64
	// TracerProvider makes a "deliver" span for each message that streams of this
	// process get, from when the first of them has it until it was written to all. Its
	// parent is the span of the call of ToMember, ToRoom or ToAll, in any process. No
	// spans when nil; the context is passed on all the same.
	TracerProvider trace.TracerProvider
	// Delivered is called for each event with a time ([Event.At]) and each stream of this
	// process, when it is written: with the event's name and the delay since that time,
	// by this machine's clock; 0 where the clocks disagree. It is not called for events
	// of a Replayer. The goroutine that writes to clients calls it, so it must return at
	// once. Nil by default.
	Delivered func(event string, after time.Duration)
	// Logger gets the failures that cannot be returned; slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	def(&c.Max, 3)
	def(&c.Streams, 100_000)
	def(&c.PerAddress, 1000)
	def(&c.Lifetime, 30*time.Minute)
	def(&c.Ping, 20*time.Second)
	def(&c.WriteTimeout, 10*time.Second)
	def(&c.MaxFrames, 256)
	def(&c.MaxBytes, 256<<10)
	def(&c.Coalesce, 2*time.Millisecond)
	def(&c.Lease, 15*time.Second)
	def(&c.Timeout, min(time.Second, c.Lease/3))
	def(&c.ReplayTimeout, 5*time.Second)
	def(&c.Resyncs, 4)
	def(&c.Retry, 3*time.Second)
	def(&c.Spread, 10*time.Second)
	def(&c.Inbox, "/")
	if c.Cursors = slices.Clone(c.Cursors); len(c.Cursors) == 0 {
		c.Cursors = []string{"notification", "chat"}
	}
	if c.Muted = slices.Clone(c.Muted); len(c.Muted) == 0 {
		c.Muted = []string{"notification"}
	}
	if c.Browser == nil {
		c.Browser = isEventSource
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// def sets a default where the field is zero.
func def[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

func (c Config) validate() error {
	for _, f := range []struct {
		name string
		v    time.Duration
		min  time.Duration
		max  time.Duration
	}{
		{"Lifetime", c.Lifetime, 10 * time.Millisecond, 30 * 24 * time.Hour},
		{"Ping", c.Ping, 10 * time.Millisecond, time.Hour},
		{"WriteTimeout", c.WriteTimeout, time.Millisecond, time.Hour},
		{"Coalesce", c.Coalesce, time.Microsecond, 5 * time.Millisecond},
		{"Lease", c.Lease, 100 * time.Millisecond, time.Hour},
		{"Timeout", c.Timeout, time.Millisecond, c.Lease / 3},
		{"ReplayTimeout", c.ReplayTimeout, time.Millisecond, time.Hour},
		{"Retry", c.Retry, time.Millisecond, time.Hour},
		{"Spread", c.Spread, time.Millisecond, time.Hour},
	} {
		if f.v < f.min || f.v > f.max {
			return fmt.Errorf("sse: Config.%s is %v; give %v to %v, or 0 for the default", f.name, f.v, f.min, f.max)
		}
	}
	for _, f := range []struct {
		name     string
		v        int
		min, max int
	}{
		{"Max", c.Max, 1, 1000},
		{"Streams", c.Streams, 1, 1 << 30},
		{"PerAddress", c.PerAddress, 1, 1 << 30},
		{"MaxFrames", c.MaxFrames, 1, 1 << 20},
		{"MaxBytes", c.MaxBytes, 1, 1 << 30},
		{"Resyncs", c.Resyncs, 1, 1000},
	} {
		if f.v < f.min || f.v > f.max {
			return fmt.Errorf("sse: Config.%s is %d; give %d to %d, or 0 for the default", f.name, f.v, f.min, f.max)
		}
	}
	if len(c.Cursors) > 4 {
		return fmt.Errorf("sse: Config.Cursors has %d names; give at most 4, so that all fit a header", len(c.Cursors))
	}
	for i, name := range c.Cursors {
		if !validID(name) || slices.Contains(c.Cursors[:i], name) {
			return fmt.Errorf("sse: Config.Cursors has %q; give each name once, of visible ASCII without ; and =", name)
		}
	}
	return nil
}

// isEventSource detects a browser's EventSource by headers that scripts do not send
// by themselves.
func isEventSource(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") != "" && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// rules are those of the Cap. Their lifetime includes the last write to a stream
// that ends, which until then is no ghost.
func (c Config) rules() driver.Rules {
	return driver.Rules{Max: c.Max, Lifetime: c.Lifetime + c.Ping + 2*c.WriteTimeout}
}

// spread is a random delay for one of many clients.
func (c Config) spread() time.Duration {
	return c.Retry + time.Duration(c.Random()*float64(c.Spread))
}

// lifetime is a random lifetime for one stream.
func (c Config) lifetime() time.Duration {
	return c.Lifetime - time.Duration(c.Random()*float64(c.Lifetime/10))
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // strings always marshal
		return []byte(`""`)
	}
	return b
}
