package ssetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sse/driver"
)

// long is a time that does not pass while the suite runs, short one that has passed
// after a pause.
const (
	long  = time.Hour
	short = 20 * time.Millisecond
	pause = 60 * time.Millisecond
)

var three = driver.Rules{Max: 3, Lifetime: long}

// player is one member with one instance.
type player struct {
	CapHarness
	ctx      context.Context
	member   string
	instance string
	live     driver.Live
	opened   []driver.Conn
}

func play(ctx context.Context, h CapHarness) (*player, error) {
	p := &player{CapHarness: h, ctx: ctx, member: name("member"), instance: name("instance")}
	live, err := h.Cap.Renew(ctx, p.instance, long)
	p.live = live
	return p, err
}

// conn is a connection of the player's instance, with a tab of its own.
func (p *player) conn(n string) driver.Conn {
	return driver.Conn{Member: p.member, ID: p.instance + "." + n, Token: p.instance + "-tab-" + n}
}

func (p *player) open(r driver.Rules, c driver.Conn) (driver.Opened, error) {
	p.opened = append(p.opened, c)
	return p.Cap.Open(p.ctx, r, p.live, c)
}

// opens opens connections, and expects no evictions.
func (p *player) opens(numbers ...string) error {
	for _, n := range numbers {
		if err := p.expect(three, n); err != nil {
			return err
		}
	}
	return nil
}

// expect opens a connection, and expects exactly these victims.
func (p *player) expect(r driver.Rules, n string, victims ...string) error {
	got, err := p.open(r, p.conn(n))
	if err != nil {
		return fmt.Errorf("open %s: %w", n, err)
	}
	var want []driver.Conn
	for _, v := range victims {
		want = append(want, p.conn(v))
	}
	if !slices.Equal(got.Evicted, want) || len(got.Replaced) != 0 {
		return fmt.Errorf("opening %s answers %+v; want the victims %+v", n, got, want)
	}
	return nil
}

// registered expects that of all opened connections exactly these are registered.
func (p *player) registered(numbers ...string) error {
	missing, err := p.Cap.Gone(p.ctx, p.opened)
	if err != nil {
		return fmt.Errorf("gone: %w", err)
	}
	for _, c := range p.opened {
		want := slices.ContainsFunc(numbers, func(n string) bool { return p.conn(n).ID == c.ID })
		is := !slices.ContainsFunc(missing, func(m driver.Missing) bool { return m.Conn == c })
		if is != want {
			return fmt.Errorf("%s is registered: %v; want exactly %v", c.ID, is, numbers)
		}
	}
	return nil
}

// refused expects that a tab gets no stream.
func (p *player) refused(c driver.Conn) error {
	if got, err := p.open(three, c); !errors.Is(err, driver.ErrEvicted) {
		return fmt.Errorf("a tab that was evicted opens %s and is answered %+v, %v; want ErrEvicted", c.ID, got, err)
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// capCase is a case that is made of steps.
func capCase(name string, run func(p *player) error) conformance.Case[CapHarness] {
	return conformance.Case[CapHarness]{Name: name, Run: func(ctx context.Context, h CapHarness) (err error) {
		defer steps.End(&err)
		p, err := play(ctx, h)
		steps.Named(err, "renew")
		return run(p)
	}}
}
