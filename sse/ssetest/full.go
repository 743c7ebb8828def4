package ssetest

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sse/driver"
)

// fullCases are about the known states of a full member's connections.
func fullCases() []conformance.Case[CapHarness] {
	return []conformance.Case[CapHarness]{
		capCase("without-victims-nobody-goes", func(p *player) error {
			spare := three
			spare.NoVictims = true
			for _, n := range []string{"9", "5", "7"} {
				steps.Named(p.expect(spare, n), "below the cap")
			}
			got, err := p.open(spare, p.conn("1"))
			steps.Named(err, "open")
			want := []driver.Conn{p.conn("9"), p.conn("5"), p.conn("7")}
			if !slices.Equal(got.Full, want) || len(got.Evicted)+len(got.Replaced) != 0 {
				return fmt.Errorf("at the cap it is answered %+v; want %+v as full", got, want)
			}
			steps.Do(p.registered("9", "5", "7"))
			back := p.conn("2")
			back.Token = p.conn("5").Token
			got, err = p.open(spare, back)
			if err != nil || got.Full != nil || !slices.Equal(got.Replaced, []driver.Conn{p.conn("5")}) {
				return fmt.Errorf("a tab that comes back is answered %+v, %v; want its own place", got, err)
			}
			return p.registered("9", "7", "2")
		}),
		capCase("the-gone-take-no-place", func(p *player) error {
			steps.Do(p.opens("1", "2", "3"))
			spare := three
			spare.NoVictims = true
			p.live.Gone = []string{p.conn("2").ID, p.conn("never").ID}
			got, err := p.open(spare, p.conn("4"))
			steps.Named(err, "open")
			if got.Full != nil || len(got.Evicted) != 0 || got.Ghosts != 1 {
				return fmt.Errorf("where one of three has left it is answered %+v; want a place, no victim and a ghost", got)
			}
			steps.Do(p.registered("1", "3", "4"))
			p.live.Gone = []string{p.conn("1").ID, p.conn("3").ID, p.conn("4").ID}
			again := p.conn("5")
			again.Token = p.conn("2").Token
			_, err = p.open(three, again)
			steps.Named(err, "the tab of one that had left opens another")
			return p.registered("5")
		}),
		capCase("the-silent-go-first", func(p *player) error {
			steps.Do(p.opens("1", "2", "3"))
			p.live.Silent = []string{p.conn("4").ID, p.conn("3").ID, p.conn("2").ID, p.conn("never").ID}
			steps.Do(p.expect(three, "4", "2"))
			steps.Do(p.registered("1", "3", "4"))
			back := p.conn("5")
			back.Token = p.conn("2").Token
			steps.Do(p.refused(back))
			p.live.Silent = []string{p.conn("3").ID}
			steps.Do(p.expect(driver.Rules{Max: 1, Lifetime: long}, "6", "3", "1", "4"))
			return p.registered("6")
		}),
	}
}
