package ssetest

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sse/driver"
)

func evictedCases() []conformance.Case[CapHarness] {
	return []conformance.Case[CapHarness]{
		capCase("an-evicted-tab-gets-no-stream", func(p *player) error {
			steps.Do(first(p.opens("1", "2", "3"), p.expect(three, "4", "1")))
			back := p.conn("5")
			back.Token = p.conn("1").Token
			steps.Do(first(p.refused(back), p.refused(p.conn("1"))))
			steps.Named(p.registered("2", "3", "4"), "after a refusal")
			// The same token of another member is another tab.
			p.member, p.opened = name("member"), nil
			_, err := p.open(three, driver.Conn{Member: p.member, ID: p.conn("6").ID, Token: back.Token})
			steps.Named(err, "another member's tab with the token of an evicted one")
			return p.registered("6")
		}),
		capCase("an-evicted-tab-is-forgotten-in-time", func(p *player) error {
			// If the machine is so slow that the first is a ghost by then, a longer time is tried.
			lifetime := short
			for ghosts := 1; ghosts > 0; lifetime *= 2 {
				p.member, p.opened = name("member"), nil
				steps.Do(p.opens("1"))
				got, err := p.open(driver.Rules{Max: 1, Lifetime: lifetime}, p.conn("2"))
				if ghosts = got.Ghosts; err != nil || len(got.Evicted)+ghosts != 1 {
					return fmt.Errorf("opening 2 answers %+v, %v; want the victim 1", got, err)
				}
			}
			p.Advance(lifetime)
			back := p.conn("3")
			back.Token = p.conn("1").Token
			_, err := p.open(three, back)
			steps.Named(err, "a tab comes back after the time for which it is remembered")
			return nil
		}),
		capCase("many-evicted-tabs-are-remembered", func(p *player) error {
			const many = 33
			one := driver.Rules{Max: 1, Lifetime: long}
			for i := range many {
				steps.Get(p.open(one, p.conn(fmt.Sprint(i))))
			}
			for i := range many - 1 {
				steps.Do(p.refused(p.conn(fmt.Sprint(i))))
			}
			return p.registered(fmt.Sprint(many - 1))
		}),
		capCase("a-tab-takes-its-own-place", func(p *player) error {
			steps.Do(p.opens("1", "2", "3"))
			back := p.conn("4")
			back.Token = p.conn("2").Token
			got, err := p.open(three, back)
			steps.Named(err, "open")
			if len(got.Evicted) != 0 || !slices.Equal(got.Replaced, []driver.Conn{p.conn("2")}) {
				return fmt.Errorf("a tab that comes back is answered %+v; want its former connection as replaced", got)
			}
			steps.Do(p.registered("1", "3", "4"))
			// That did not evict it, and it is the youngest now.
			steps.Do(p.expect(three, "5", "1"))
			again := p.conn("6")
			again.Token = back.Token
			_, err = p.open(three, again)
			steps.Named(err, "it comes back once more")
			return p.registered("3", "5", "6")
		}),
	}
}
