package ssetest

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/sse/driver"
)

func evictedCases() []conformance.Case[CapHarness] {
	return []conformance.Case[CapHarness]{
		capCase("an-evicted-tab-gets-no-stream", func(p *player) error {
			if err := first(p.opens("1", "2", "3"), p.expect(three, "4", "1")); err != nil {
				return err
			}
			back := p.conn("5")
			back.Token = p.conn("1").Token
			if err := first(p.refused(back), p.refused(p.conn("1"))); err != nil {
				return err
			}
			if err := p.registered("2", "3", "4"); err != nil {
				return fmt.Errorf("after a refusal: %w", err)
			}
			// The same token of another member is another tab.
			p.member, p.opened = name("member"), nil
			if _, err := p.open(three, driver.Conn{Member: p.member, ID: p.conn("6").ID, Token: back.Token}); err != nil {
				return fmt.Errorf("another member's tab with the token of an evicted one: %w", err)
			}
			return p.registered("6")
		}),
		capCase("an-evicted-tab-is-forgotten-in-time", func(p *player) error {
			// If the machine is so slow that the first is a ghost by then, a longer time is tried.
			lifetime := short
			for ghosts := 1; ghosts > 0; lifetime *= 2 {
				p.member, p.opened = name("member"), nil
				if err := p.opens("1"); err != nil {
					return err
				}
				got, err := p.open(driver.Rules{Max: 1, Lifetime: lifetime}, p.conn("2"))
				if ghosts = got.Ghosts; err != nil || len(got.Evicted)+ghosts != 1 {
					return fmt.Errorf("opening 2 answers %+v, %v; want the victim 1", got, err)
				}
			}
			p.Advance(lifetime)
			back := p.conn("3")
			back.Token = p.conn("1").Token
			if _, err := p.open(three, back); err != nil {
				return fmt.Errorf("a tab comes back after the time for which it is remembered: %w", err)
			}
			return nil
		}),
		capCase("many-evicted-tabs-are-remembered", func(p *player) error {
			const many = 33
			one := driver.Rules{Max: 1, Lifetime: long}
			for i := range many {
				if _, err := p.open(one, p.conn(fmt.Sprint(i))); err != nil {
					return err
				}
			}
			for i := range many - 1 {
				if err := p.refused(p.conn(fmt.Sprint(i))); err != nil {
					return err
				}
			}
			return p.registered(fmt.Sprint(many - 1))
		}),
		capCase("a-tab-takes-its-own-place", func(p *player) error {
			if err := p.opens("1", "2", "3"); err != nil {
				return err
			}
			back := p.conn("4")
			back.Token = p.conn("2").Token
			got, err := p.open(three, back)
			if err != nil {
				return fmt.Errorf("open: %w", err)
			}
			if len(got.Evicted) != 0 || !slices.Equal(got.Replaced, []driver.Conn{p.conn("2")}) {
				return fmt.Errorf("a tab that comes back is answered %+v; want its former connection as replaced", got)
			}
			if err := p.registered("1", "3", "4"); err != nil {
				return err
			}
			// That did not evict it, and it is the youngest now.
			if err := p.expect(three, "5", "1"); err != nil {
				return err
			}
			again := p.conn("6")
			again.Token = back.Token
			if _, err := p.open(three, again); err != nil {
				return fmt.Errorf("it comes back once more: %w", err)
			}
			return p.registered("3", "5", "6")
		}),
	}
}
