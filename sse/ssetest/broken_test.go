package ssetest_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
	"github.com/millrace-go/millrace/sse/ssetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a correct Cap with one defect, which replaces one of its calls.
type backend struct {
	driver.Cap
	open  func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error)
	gone  func(b *backend, ctx context.Context, conns []driver.Conn) ([]driver.Missing, error)
	close func(b *backend, ctx context.Context, conns []driver.Conn) error
	renew func(b *backend, ctx context.Context, instance string, lease time.Duration) (driver.Live, error)
	sweep func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, from string) (driver.Swept, error)
	end   func(b *backend, ctx context.Context, instance string) error

	mu     sync.Mutex
	have   map[string][]driver.Conn // the memory of a defect: the open ones of each member, oldest first
	tokens []string
	at     time.Time
}

func (b *backend) Open(ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	if b.open == nil {
		return b.Cap.Open(ctx, r, live, c)
	}
	return b.open(b, ctx, r, live, c)
}

func (b *backend) Gone(ctx context.Context, conns []driver.Conn) ([]driver.Missing, error) {
	if b.gone == nil {
		return b.Cap.Gone(ctx, conns)
	}
	return b.gone(b, ctx, conns)
}

func (b *backend) Close(ctx context.Context, conns []driver.Conn) error {
	if b.close == nil {
		return b.Cap.Close(ctx, conns)
	}
	return b.close(b, ctx, conns)
}

func (b *backend) Renew(ctx context.Context, instance string, lease time.Duration) (driver.Live, error) {
	if b.renew == nil {
		return b.Cap.Renew(ctx, instance, lease)
	}
	return b.renew(b, ctx, instance, lease)
}

func (b *backend) Sweep(ctx context.Context, r driver.Rules, live driver.Live, from string) (driver.Swept, error) {
	if b.sweep == nil {
		return b.Cap.Sweep(ctx, r, live, from)
	}
	return b.sweep(b, ctx, r, live, from)
}

func (b *backend) Resign(ctx context.Context, instance string) error {
	if b.end == nil {
		return b.Cap.Resign(ctx, instance)
	}
	return b.end(b, ctx, instance)
}

// note records the open connections, as far as the answer says.
func (b *backend) note(c driver.Conn, got driver.Opened) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.have == nil {
		b.have = map[string][]driver.Conn{}
	}
	b.have[c.Member] = append(b.have[c.Member], c)
	for _, v := range slices.Concat(got.Evicted, got.Replaced) {
		b.have[v.Member] = slices.DeleteFunc(b.have[v.Member], func(o driver.Conn) bool { return o == v })
	}
}

func (b *backend) of(member string) []driver.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.have[member])
}

type openFunc = func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error)

// answers changes the answer of a correct Open.
func answers(change func(b *backend, c driver.Conn, got *driver.Opened)) openFunc {
	return func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
		got, err := b.Cap.Open(ctx, r, live, c)
		if err == nil {
			change(b, c, &got)
		}
		return got, err
	}
}

// asks changes the arguments of a correct Open.
func asks(change func(b *backend, r *driver.Rules, live *driver.Live, c *driver.Conn)) openFunc {
	return func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
		change(b, &r, &live, &c)
		got, err := b.Cap.Open(ctx, r, live, c)
		if err == nil {
			b.note(c, got)
		}
		return got, err
	}
}

func TestEveryCaseCatchesADefect(t *testing.T) {
	var mutants []conformance.Mutant[ssetest.CapHarness]
	for _, d := range capDefects() {
		mutants = append(mutants, conformance.Mutant[ssetest.CapHarness]{Name: d.name, Cases: d.by, Open: func(t *testing.T) ssetest.CapHarness {
			t.Helper()
			correct, _ := memsse.New()
			b := d.backend
			return ssetest.CapHarness{Cap: &backend{Cap: correct, open: b.open, gone: b.gone, close: b.close, renew: b.renew, sweep: b.sweep, end: b.end}}
		}})
	}
	ssetest.CapSuite().Mutants(t, mutants)
}

// A correct store passes though each of its calls takes longer than the suite's short times.
func TestASlowCapPasses(t *testing.T) {
	for _, c := range ssetest.CapSuite().Cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				correct, _ := memsse.New()
				slow := &backend{Cap: correct, open: asks(func(*backend, *driver.Rules, *driver.Live, *driver.Conn) { time.Sleep(50 * time.Millisecond) })}
				require.NoError(t, ssetest.CapSuite().Check(t.Context(), c, ssetest.CapHarness{Cap: slow}))
			})
		})
	}
}

type capDefect struct {
	name    string
	by      []string
	backend *backend
}

func capDefects() []capDefect {
	by := func(names ...string) []string { return names }
	return []capDefect{
		{"has no cap", by("one-too-many-evicts-the-oldest", "openings-race"), &backend{open: asks(func(_ *backend, r *driver.Rules, _ *driver.Live, _ *driver.Conn) { r.Max = 1000 })}},
		{"allows one less", by("up-to-the-cap-nobody-goes"), &backend{open: asks(func(_ *backend, r *driver.Rules, _ *driver.Live, _ *driver.Conn) { r.Max = max(1, r.Max-1) })}},
		{"evicts the youngest", by("one-too-many-evicts-the-oldest"), &backend{open: evictsYoungest}},
		{"evicts though it is told not to", by("without-victims-nobody-goes"), &backend{open: asks(func(_ *backend, r *driver.Rules, _ *driver.Live, _ *driver.Conn) { r.NoVictims = false })}},
		{"names the full in another order", by("without-victims-nobody-goes"), &backend{open: answers(func(_ *backend, _ driver.Conn, got *driver.Opened) { slices.Reverse(got.Full) })}},
		{"keeps the gone", by("the-gone-take-no-place"), &backend{open: asks(func(_ *backend, _ *driver.Rules, live *driver.Live, _ *driver.Conn) { live.Gone = nil })}},
		{"evicts the gone", by("the-gone-take-no-place"), &backend{open: asks(func(_ *backend, r *driver.Rules, live *driver.Live, _ *driver.Conn) {
			live.Silent, live.Gone, r.NoVictims = live.Gone, nil, false
		})}},
		{"evicts the oldest while others are silent", by("the-silent-go-first"), &backend{open: asks(func(_ *backend, _ *driver.Rules, live *driver.Live, _ *driver.Conn) { live.Silent = nil })}},
		{"takes the silent for gone", by("the-silent-go-first"), &backend{open: asks(func(_ *backend, _ *driver.Rules, live *driver.Live, _ *driver.Conn) {
			live.Gone, live.Silent = live.Silent, nil
		})}},
		{"breaks ties by name", by("times-are-distinct"), &backend{open: breaksTiesByName}},
		{"names victims in another order", by("a-lower-cap-evicts-several"), &backend{open: answers(func(_ *backend, _ driver.Conn, got *driver.Opened) { slices.Reverse(got.Evicted) })}},
		{"makes young who opens again", by("opening-again-changes-nothing"), &backend{open: opensAnew}},
		{"mixes members", by("members-are-apart"), &backend{close: closesAll}},
		{"cuts names", by("odd-names"), &backend{open: asks(func(_ *backend, _ *driver.Rules, _ *driver.Live, c *driver.Conn) {
			c.Member = strings.ReplaceAll(c.Member, "\x00", "")
		})}},
		{"closes nothing", by("close-gives-the-place-back", "gone-of-many"), &backend{close: func(*backend, context.Context, []driver.Conn) error { return nil }}},
		{"remembers who closed as evicted", by("close-gives-the-place-back"), &backend{open: refusesKnown, close: remembersClosed}},
		{"looks first and acts then", by("openings-race"), &backend{open: looksThenActs}},
		{"forgets who was evicted", by("an-evicted-tab-gets-no-stream"), &backend{open: asks(func(_ *backend, _ *driver.Rules, _ *driver.Live, c *driver.Conn) { c.Token = c.ID })}},
		{"remembers ten evicted", by("many-evicted-tabs-are-remembered"), &backend{open: remembersTen}},
		{"remembers evicted for ever", by("an-evicted-tab-is-forgotten-in-time"), &backend{open: asks(func(_ *backend, r *driver.Rules, _ *driver.Live, _ *driver.Conn) { r.Lifetime = time.Hour })}},
		{"knows no tabs", by("a-tab-takes-its-own-place"), &backend{open: asks(func(_ *backend, _ *driver.Rules, _ *driver.Live, c *driver.Conn) { c.Token = c.ID })}},
		{"counts the replaced as evicted", by("a-tab-takes-its-own-place"), &backend{open: answers(func(_ *backend, _ driver.Conn, got *driver.Opened) {
			got.Evicted, got.Replaced = append(got.Evicted, got.Replaced...), nil
		})}},
		{"never misses anybody", by("gone-says-why", "gone-of-many"), &backend{gone: func(*backend, context.Context, []driver.Conn) ([]driver.Missing, error) { return nil, nil }}},
		{"never says evicted", by("gone-says-why"), &backend{gone: says(false)}},
		{"always says evicted", by("gone-says-why"), &backend{gone: says(true)}},
		{"looks at a few", by("gone-of-many"), &backend{gone: func(b *backend, ctx context.Context, conns []driver.Conn) ([]driver.Missing, error) {
			return b.Cap.Gone(ctx, conns[:min(len(conns), 100)])
		}}},
		{"has leases that do not end", by("leases-end-unless-they-are-renewed", "of-a-dead-instance-is-a-ghost", "sweep-removes-ghosts-only"),
			&backend{renew: func(b *backend, ctx context.Context, instance string, _ time.Duration) (driver.Live, error) {
				return b.Cap.Renew(ctx, instance, time.Hour)
			}}},
		{"does not resign", by("leases-end-unless-they-are-renewed"), &backend{end: func(*backend, context.Context, string) error { return nil }}},
		{"has a clock that stands", by("leases-end-unless-they-are-renewed"), &backend{renew: standingClock}},
		{"keeps who is too old", by("too-old-is-a-ghost"), &backend{open: asks(func(_ *backend, r *driver.Rules, _ *driver.Live, _ *driver.Conn) { r.Lifetime = time.Hour })}},
		{"names ghosts as victims", by("too-old-is-a-ghost", "of-a-dead-instance-is-a-ghost"), &backend{open: answers(func(b *backend, c driver.Conn, got *driver.Opened) {
			if got.Ghosts > 0 {
				got.Evicted = append(got.Evicted, c)
			}
		})}},
		{"does not heed the list", by("of-a-dead-instance-is-a-ghost"), &backend{open: asks(func(_ *backend, _ *driver.Rules, live *driver.Live, _ *driver.Conn) { live.At = time.Time{} })}},
		{"does not heed the list's time", by("newer-than-the-list-is-no-ghost"), &backend{open: asks(func(_ *backend, _ *driver.Rules, live *driver.Live, _ *driver.Conn) {
			live.At = live.At.Add(time.Hour)
		})}},
		{"sweeps nothing", by("sweep-removes-ghosts-only"), &backend{sweep: func(*backend, context.Context, driver.Rules, driver.Live, string) (driver.Swept, error) {
			return driver.Swept{Done: true}, nil
		}}},
		{"sweeps everybody", by("sweep-removes-ghosts-only"), &backend{sweep: func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, from string) (driver.Swept, error) {
			return b.Cap.Sweep(ctx, r, driver.Live{At: live.At.Add(time.Hour)}, from)
		}}},
		{"sweeps in spite of the list's time", by("sweep-removes-ghosts-only"), &backend{sweep: func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, from string) (driver.Swept, error) {
			live.At = live.At.Add(time.Hour)
			return b.Cap.Sweep(ctx, r, live, from)
		}}},
		{"forgets evicted tabs in a sweep", by("sweep-removes-ghosts-only"), &backend{sweep: func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, from string) (driver.Swept, error) {
			b.tokens = []string{"forgotten"}
			return b.Cap.Sweep(ctx, r, live, from)
		}, open: asks(func(b *backend, _ *driver.Rules, _ *driver.Live, c *driver.Conn) {
			if b.tokens != nil {
				c.Token = c.ID + "'"
			}
		})}},
		{"takes any call", by("calls-that-cannot-be"), &backend{open: asks(func(_ *backend, r *driver.Rules, _ *driver.Live, c *driver.Conn) {
			if r.Max = max(r.Max, 1); c.Token == "" {
				c.Token = "t"
			}
		})}},
		{"takes any lease", by("calls-that-cannot-be"), &backend{renew: func(b *backend, ctx context.Context, instance string, lease time.Duration) (driver.Live, error) {
			return b.Cap.Renew(ctx, cmp.Or(instance, "another"), max(lease, time.Second))
		}}},
		{"heeds no context", by("ended-context"), &backend{open: func(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
			return b.Cap.Open(context.WithoutCancel(ctx), r, live, c)
		}}},
	}
}

func evictsYoungest(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	var evicted []driver.Conn
	if have := b.of(c.Member); len(have) == r.Max {
		evicted = have[len(have)-1:]
		if err := b.Cap.Close(ctx, evicted); err != nil {
			return driver.Opened{}, err
		}
	}
	got, err := b.Cap.Open(ctx, r, live, c)
	got.Evicted = evicted
	b.note(c, got)
	return got, err
}

func breaksTiesByName(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	if have := b.of(c.Member); len(have) == r.Max && c.ID < have[0].ID {
		return driver.Opened{Evicted: []driver.Conn{c}}, nil
	}
	got, err := b.Cap.Open(ctx, r, live, c)
	b.note(c, got)
	return got, err
}

func opensAnew(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	if err := b.Cap.Close(ctx, []driver.Conn{c}); err != nil {
		return driver.Opened{}, err
	}
	return b.Cap.Open(ctx, r, live, c)
}

// closesAll closes a connection id of every member.
func closesAll(b *backend, ctx context.Context, conns []driver.Conn) error {
	for _, c := range conns {
		for range 2 {
			if err := b.Cap.Close(ctx, []driver.Conn{c}); err != nil {
				return err
			}
			c.Member = strings.TrimSuffix(c.Member, "2")
		}
	}
	return nil
}

func remembersClosed(b *backend, ctx context.Context, conns []driver.Conn) error {
	b.mu.Lock()
	for _, c := range conns {
		b.tokens = append(b.tokens, c.Token)
	}
	b.mu.Unlock()
	return b.Cap.Close(ctx, conns)
}

func refusesKnown(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	b.mu.Lock()
	known := slices.Contains(b.tokens, c.Token)
	b.mu.Unlock()
	if known {
		return driver.Opened{}, driver.ErrEvicted
	}
	return b.Cap.Open(ctx, r, live, c)
}

// looksThenActs leaves time between its two steps for all the others to look.
func looksThenActs(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	have := b.of(c.Member)
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
	var victims []driver.Conn
	if over := len(have) + 1 - r.Max; over > 0 {
		victims = have[:over]
	}
	r.Max = math.MaxInt32
	got, err := b.Cap.Open(ctx, r, live, c)
	if err == nil {
		err = b.Cap.Close(ctx, victims)
	}
	got.Evicted = victims
	b.note(c, got)
	return got, err
}

func remembersTen(b *backend, ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	got, err := b.Cap.Open(ctx, r, live, c)
	if errors.Is(err, driver.ErrEvicted) {
		b.mu.Lock()
		old := len(b.tokens) > 10 && !slices.Contains(b.tokens[len(b.tokens)-10:], c.Token)
		b.mu.Unlock()
		if old {
			c.Token += "x"
			return b.Cap.Open(ctx, r, live, c)
		}
	}
	b.mu.Lock()
	for _, v := range got.Evicted {
		b.tokens = append(b.tokens, v.Token)
	}
	b.mu.Unlock()
	return got, err
}

func says(evicted bool) func(*backend, context.Context, []driver.Conn) ([]driver.Missing, error) {
	return func(b *backend, ctx context.Context, conns []driver.Conn) ([]driver.Missing, error) {
		got, err := b.Cap.Gone(ctx, conns)
		for i := range got {
			got[i].Evicted = evicted
		}
		return got, err
	}
}

func standingClock(b *backend, ctx context.Context, instance string, lease time.Duration) (driver.Live, error) {
	live, err := b.Cap.Renew(ctx, instance, lease)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.IsZero() {
		b.at = live.At
	}
	live.At = b.at
	return live, err
}
