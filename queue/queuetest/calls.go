package queuetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/driver"
)

func callCases() []testCase {
	return []testCase{
		{Name: "bad-calls", Run: badCalls},
		{Name: "odd-users", Run: oddUsers},
		{Name: "cancelled-context", Run: cancelledContext},
	}
}

// orNil prints an error that may be nil.
func orNil(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// badCalls are refused as permanent errors, and change nothing.
func badCalls(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	orders, err := p.join("a")
	if err != nil {
		return err
	}
	s, err := p.state()
	if err != nil {
		return err
	}
	call := func(b driver.Beats, all ...driver.Visit) func() error {
		return func() error { _, err := h.Store.Visit(ctx, p.event, p.r, b, all); return err }
	}
	negative := -1
	for what, try := range map[string]func() error{
		"more visits than MaxVisits": call(driver.Beats{}, checks(names("u", driver.MaxVisits+1)...)...),
		"more beats than MaxBeats":   call(driver.Beats{Epoch: s.Epoch, Orders: make([]int64, driver.MaxBeats+1)}),
		"a user without a name":      call(driver.Beats{}, checks("b", "")...),
		"a user of 257 bytes":        call(driver.Beats{}, checks("b", strings.Repeat("x", 257))...),
		"a kind that is none":        call(driver.Beats{}, driver.Visit{Kind: driver.Check, User: "b"}, driver.Visit{Kind: 200, User: "b"}),
		"a negative threshold": func() error {
			_, err := h.Store.Change(ctx, p.event, p.r, driver.Change{Threshold: &negative})
			return err
		},
	} {
		if err := try(); err == nil || fault.Of(err) != fault.Permanent {
			return fmt.Errorf("%s: %w; want a permanent error", what, orNil(err))
		}
		if err := new(snapshot).shows(p, orders); err != nil {
			return fmt.Errorf("after %s: %w", what, err)
		}
	}
	return nil
}

// oddUsers are told apart byte by byte.
func oddUsers(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	long := strings.Repeat("x", 255)
	users := []string{"a", "A", " a", "a ", "0", "00", "-1", "1e3", "nil", "{a}", "a:b", "a\x00", "a\x00b", "\xff\xfe", "한국어", long + "1", long + "2", "\n", "*", "%s"}
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	for i, user := range users {
		o, err := p.stands("in line", user, driver.Waiting)
		if err != nil {
			return err
		}
		if o.Order != orders[i] || o.Ahead != i {
			return fmt.Errorf("%q joined by order %d, and stands as %+v", user, orders[i], o)
		}
	}
	if err := p.threshold(len(users)); err != nil {
		return err
	}
	return p.admits("a place for each", users...)
}

func cancelledContext(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for what, try := range map[string]func() error{
		"Visit":  func() error { _, err := h.Store.Visit(ended, p.event, p.r, driver.Beats{}, checks("a")); return err },
		"Look":   func() error { _, err := h.Store.Look(ended, p.event, p.r, 0, 0); return err },
		"Admit":  func() error { _, err := h.Store.Admit(ended, p.event, p.r); return err },
		"Sweep":  func() error { _, err := h.Store.Sweep(ended, p.event, p.r, 0); return err },
		"Change": func() error { _, err := h.Store.Change(ended, p.event, p.r, driver.Change{Clear: true}); return err },
		"Events": func() error { _, err := h.Store.Events(ended); return err },
	} {
		if err := try(); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s under an ended context: %w", what, orNil(err))
		}
	}
	return p.counts("after calls under an ended context", 0, 0, 0)
}
