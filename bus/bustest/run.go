package bustest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/millrace-go/millrace/bus"
)

// Option changes one Run.
type Option func(*options)

type options struct {
	again     func(t *testing.T, b *bus.Bus) *bus.Bus
	schemes   []bus.Scheme
	url       string
	absent    func(t *testing.T, address string) (b *bus.Bus, server string)
	restart   []string
	quick     bool
	caseLimit time.Duration
}

// Again sets a function that opens another Bus on the same store as b, which open made; b may be
// open or closed. The function closes nothing; cases close the buses they opened. It is
// required.
func Again(open func(t *testing.T, b *bus.Bus) *bus.Bus) Option {
	return func(o *options) { o.again = open }
}

// URL sets a URL of the transport without a query, and the schemes that open it, for the cases
// about URLs. It is required.
func URL(rawURL string, schemes ...bus.Scheme) Option {
	return func(o *options) { o.url, o.schemes = rawURL, schemes }
}

// RestartCommand sets a command that restarts the transport's server, for Watermill's
// TestReconnect.
func RestartCommand(command ...string) Option {
	return func(o *options) { o.restart = command }
}

// Quick runs Watermill's cases with fewer messages, for transports on which a publish costs a
// disk write.
func Quick() Option { return func(o *options) { o.quick = true } }

// Run runs every case as a subtest. open returns an open Bus on a store that no
// other call of open uses; Run closes it.
func Run(t *testing.T, open func(t *testing.T) *bus.Bus, opts ...Option) {
	t.Helper()
	o := options{caseLimit: time.Minute}
	for _, opt := range opts {
		opt(&o)
	}
	if o.again == nil || len(o.schemes) == 0 {
		t.Fatal("bustest: give the options Again and URL: no case is left out silently")
	}
	opened := func(t *testing.T) *bus.Bus {
		b := open(t)
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Errorf("close the bus: %v", err)
			}
		})
		return b
	}

	t.Run("Watermill", func(t *testing.T) {
		for _, f := range watermillTests() {
			t.Run(f.name, func(t *testing.T) {
				b := opened(t)
				if na(t, f.name, b, o) {
					return
				}
				// A skip that is not in the list would be a case that never runs.
				t.Cleanup(func() {
					if t.Skipped() {
						t.Errorf("%s skipped itself, and no rule of bustest.RuledOut says why", f.name)
					}
				})
				f.run(t, b, o)
			})
		}
	})
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			b := opened(t)
			if na(t, c.Name, b, o) {
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), o.caseLimit)
			defer cancel()
			err := c.Test(ctx, Env{
				Bus: b,
				Again: func() (*bus.Bus, error) {
					if again := o.again(t, b); again != nil {
						return again, nil
					}
					return nil, errors.New("bustest: Again returned no bus")
				},
				OpenURL: func(ctx context.Context, query string) (*bus.Bus, error) {
					return bus.Open(ctx, o.url+"?"+query, o.schemes...)
				},
				Absent: func() (*bus.Bus, func() error, error) { return o.absence(t) },
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func na(t *testing.T, name string, b *bus.Bus, o options) bool {
	t.Helper()
	r, ok := ruledOut(name, flags(b, o))
	if ok {
		t.Logf("n/a on %s: without %s: %s", b.Name(), r.Flag, r.Reason)
	}
	return ok
}
