package ssetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/sse/driver"
)

func callCases() []conformance.Case[CapHarness] {
	return []conformance.Case[CapHarness]{
		capCase("calls-that-cannot-be", func(p *player) error {
			good := p.conn("1")
			with := func(change func(c *driver.Conn)) driver.Conn { c := good; change(&c); return c }
			for what, c := range map[string]driver.Conn{
				"no member":     with(func(c *driver.Conn) { c.Member = "" }),
				"a long member": with(func(c *driver.Conn) { c.Member = strings.Repeat("m", driver.MaxMember+1) }),
				"no instance":   with(func(c *driver.Conn) { c.ID = "1" }),
				"a long id":     with(func(c *driver.Conn) { c.ID = strings.Repeat("i", driver.MaxToken) + ".1" }),
				"no token":      with(func(c *driver.Conn) { c.Token = "" }),
				"a long token":  with(func(c *driver.Conn) { c.Token = strings.Repeat("t", driver.MaxToken+1) }),
			} {
				if got, err := p.Cap.Open(p.ctx, three, p.live, c); err == nil {
					return fmt.Errorf("%s: opened, %+v", what, got)
				}
			}
			if _, err := p.Cap.Open(p.ctx, driver.Rules{Lifetime: long}, p.live, good); err == nil {
				return fmt.Errorf("a cap of 0 is taken")
			}
			for what, l := range map[string]struct {
				instance string
				lease    time.Duration
			}{
				"no instance":     {"", long},
				"a long instance": {strings.Repeat("i", driver.MaxToken+1), long},
				"no time":         {p.instance, 0},
				"a negative time": {p.instance, -long},
			} {
				if live, err := p.Cap.Renew(p.ctx, l.instance, l.lease); err == nil {
					return fmt.Errorf("%s: the lease is renewed, %+v", what, live)
				}
			}
			many := make([]driver.Conn, driver.MaxConns+1)
			for i := range many {
				many[i] = good
			}
			if _, err := p.Cap.Gone(p.ctx, many); err == nil {
				return fmt.Errorf("%d connections are looked up in a call", len(many))
			}
			if err := p.Cap.Close(p.ctx, many); err == nil {
				return fmt.Errorf("%d connections are closed in a call", len(many))
			}
			if _, err := p.Cap.Sweep(p.ctx, three, p.live, "\x00no cursor"); err == nil {
				return fmt.Errorf("a sweep goes on from anywhere")
			}
			return nil
		}),
		capCase("ended-context", func(p *player) error {
			ctx, cancel := context.WithCancel(p.ctx)
			cancel()
			c := p.conn("1")
			if _, err := p.Cap.Open(ctx, three, p.live, c); err == nil {
				return fmt.Errorf("open does not heed its context")
			}
			if _, err := p.Cap.Renew(ctx, p.instance, long); err == nil {
				return fmt.Errorf("renew does not heed its context")
			}
			if _, err := p.Cap.Gone(ctx, []driver.Conn{c}); err == nil {
				return fmt.Errorf("gone does not heed its context")
			}
			if err := p.Cap.Close(ctx, []driver.Conn{c}); err == nil {
				return fmt.Errorf("close does not heed its context")
			}
			if _, err := p.Cap.Sweep(ctx, three, p.live, ""); err == nil {
				return fmt.Errorf("sweep does not heed its context")
			}
			if err := p.Cap.Resign(ctx, p.instance); err == nil {
				return fmt.Errorf("resign does not heed its context")
			}
			return nil
		}),
	}
}
