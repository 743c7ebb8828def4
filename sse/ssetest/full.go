package ssetest

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/sse/driver"
)

// fullCases are about the known states of a full member's connections.
func fullCases() []conformance.Case[CapHarness] {
	return []conformance.Case[CapHarness]{
		capCase("without-victims-nobody-goes", func(p *player) error {
			spare := three
			spare.NoVictims = true
			for _, n := range []string{"9", "5", "7"} {
				if err := p.expect(spare, n); err != nil {
					return fmt.Errorf("below the cap: %w", err)
				}
			}
			got, err := p.open(spare, p.conn("1"))
			if err != nil {
				return fmt.Errorf("open: %w", err)
			}
			want := []driver.Conn{p.conn("9"), p.conn("5"), p.conn("7")}
			if !slices.Equal(got.Full, want) || len(got.Evicted)+len(got.Replaced) != 0 {
				return fmt.Errorf("at the cap it is answered %+v; want %+v as full", got, want)
			}
			if err := p.registered("9", "5", "7"); err != nil {
				return err
			}
			back := p.conn("2")
			back.Token = p.conn("5").Token
			got, err = p.open(spare, back)
			if err != nil || got.Full != nil || !slices.Equal(got.Replaced, []driver.Conn{p.conn("5")}) {
				return fmt.Errorf("a tab that comes back is answered %+v, %v; want its own place", got, err)
			}
			return p.registered("9", "7", "2")
		}),
		capCase("the-gone-take-no-place", func(p *player) error {
			if err := p.opens("1", "2", "3"); err != nil {
				return err
			}
			spare := three
			spare.NoVictims = true
			p.live.Gone = []string{p.conn("2").ID, p.conn("never").ID}
			got, err := p.open(spare, p.conn("4"))
			if err != nil {
				return fmt.Errorf("open: %w", err)
			}
			if got.Full != nil || len(got.Evicted) != 0 || got.Ghosts != 1 {
				return fmt.Errorf("where one of three has left it is answered %+v; want a place, no victim and a ghost", got)
			}
			if err := p.registered("1", "3", "4"); err != nil {
				return err
			}
			p.live.Gone = []string{p.conn("1").ID, p.conn("3").ID, p.conn("4").ID}
			again := p.conn("5")
			again.Token = p.conn("2").Token
			if _, err := p.open(three, again); err != nil {
				return fmt.Errorf("the tab of one that had left opens another: %w", err)
			}
			return p.registered("5")
		}),
		capCase("the-silent-go-first", func(p *player) error {
			if err := p.opens("1", "2", "3"); err != nil {
				return err
			}
			p.live.Silent = []string{p.conn("4").ID, p.conn("3").ID, p.conn("2").ID, p.conn("never").ID}
			if err := p.expect(three, "4", "2"); err != nil {
				return err
			}
			if err := p.registered("1", "3", "4"); err != nil {
				return err
			}
			back := p.conn("5")
			back.Token = p.conn("2").Token
			if err := p.refused(back); err != nil {
				return err
			}
			p.live.Silent = []string{p.conn("3").ID}
			if err := p.expect(driver.Rules{Max: 1, Lifetime: long}, "6", "3", "1", "4"); err != nil {
				return err
			}
			return p.registered("6")
		}),
	}
}
