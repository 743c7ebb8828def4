package queuetest

import (
	"context"
	"errors"
	"strings"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func callCases() []testCase {
	return []testCase{
		{Name: "bad-calls", Run: play(badCalls)},
		{Name: "odd-users", Run: play(oddUsers)},
		{Name: "cancelled-context", Run: play(cancelledContext)},
	}
}

// orNil prints an error that may be nil.
func orNil(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// refused expects a permanent error.
func refused(what string, err error) {
	if err == nil || fault.Of(err) != fault.Permanent {
		steps.Fail("%s: %w; want a permanent error", what, orNil(err))
	}
}

// badCalls are refused as permanent errors, and change nothing.
func badCalls(p *player) {
	orders := p.join("a")
	s := p.state()
	call := func(b driver.Beats, all ...driver.Visit) func() error {
		return func() error { _, err := p.h.Store.Visit(p.ctx, p.event, p.r, b, all); return err }
	}
	negative := -1
	for what, try := range map[string]func() error{
		"more visits than MaxVisits": call(driver.Beats{}, checks(names("u", driver.MaxVisits+1)...)...),
		"more beats than MaxBeats":   call(driver.Beats{Epoch: s.Epoch, Orders: make([]int64, driver.MaxBeats+1)}),
		"a user without a name":      call(driver.Beats{}, checks("b", "")...),
		"a user of 257 bytes":        call(driver.Beats{}, checks("b", strings.Repeat("x", 257))...),
		"a kind that is none":        call(driver.Beats{}, driver.Visit{Kind: driver.Check, User: "b"}, driver.Visit{Kind: 200, User: "b"}),
		"a negative threshold": func() error {
			_, err := p.h.Store.Change(p.ctx, p.event, p.r, driver.Change{Threshold: &negative})
			return err
		},
	} {
		refused(what, try())
		steps.Within("after "+what, func() { new(snapshot).shows(p, orders) })
	}
}

// oddUsers are told apart byte by byte.
func oddUsers(p *player) {
	long := strings.Repeat("x", 255)
	users := []string{"a", "A", " a", "a ", "0", "00", "-1", "1e3", "nil", "{a}", "a:b", "a\x00", "a\x00b", "\xff\xfe", "한국어", long + "1", long + "2", "\n", "*", "%s"}
	orders := p.join(users...)
	for i, user := range users {
		o := p.stands("in line", user, driver.Waiting)
		if o.Order != orders[i] || o.Ahead != i {
			steps.Fail("%q joined by order %d, and stands as %+v", user, orders[i], o)
		}
	}
	p.threshold(len(users))
	p.admits("a place for each", users...)
}

func cancelledContext(p *player) {
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	for what, try := range map[string]func() error{
		"Visit":  func() error { _, err := p.h.Store.Visit(ended, p.event, p.r, driver.Beats{}, checks("a")); return err },
		"Look":   func() error { _, err := p.h.Store.Look(ended, p.event, p.r, 0, 0); return err },
		"Admit":  func() error { _, err := p.h.Store.Admit(ended, p.event, p.r); return err },
		"Sweep":  func() error { _, err := p.h.Store.Sweep(ended, p.event, p.r, 0); return err },
		"Change": func() error { _, err := p.h.Store.Change(ended, p.event, p.r, driver.Change{Clear: true}); return err },
		"Events": func() error { _, err := p.h.Store.Events(ended); return err },
	} {
		if err := try(); !errors.Is(err, context.Canceled) {
			steps.Fail("%s under an ended context: %w", what, orNil(err))
		}
	}
	p.counts("after calls under an ended context", 0, 0, 0)
}
