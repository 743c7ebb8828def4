package ssetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sse/driver"
)

func openCases() []conformance.Case[CapHarness] {
	return []conformance.Case[CapHarness]{
		capCase("up-to-the-cap-nobody-goes", func(p *player) error {
			steps.Do(p.opens("1", "2", "3"))
			return p.registered("1", "2", "3")
		}),
		capCase("one-too-many-evicts-the-oldest", func(p *player) error {
			// Names are in another order than time.
			steps.Do(p.opens("9", "5", "7"))
			for _, step := range []struct{ opens, evicts string }{{"1", "9"}, {"8", "5"}, {"2", "7"}, {"3", "1"}} {
				steps.Do(p.expect(three, step.opens, step.evicts))
			}
			return p.registered("8", "2", "3")
		}),
		capCase("times-are-distinct", func(p *player) error {
			// Many within a millisecond, in an order other than by name.
			last := ""
			for i := range 40 {
				n := fmt.Sprint(1000 - 7*i%40)
				var victims []string
				if last != "" {
					victims = []string{last}
				}
				steps.Do(p.expect(driver.Rules{Max: 1, Lifetime: long}, n, victims...))
				last = n
			}
			return p.registered(last)
		}),
		capCase("a-lower-cap-evicts-several", func(p *player) error {
			steps.Do(p.opens("3", "1", "2"))
			steps.Do(p.expect(driver.Rules{Max: 1, Lifetime: long}, "4", "3", "1", "2"))
			return p.registered("4")
		}),
		capCase("opening-again-changes-nothing", func(p *player) error {
			steps.Do(p.opens("1", "2", "3", "1"))
			steps.Named(p.expect(three, "4", "1"), "a connection that was opened again is not as old as it was")
			return p.registered("2", "3", "4")
		}),
		capCase("members-are-apart", func(p *player) error {
			steps.Do(p.opens("1", "2", "3"))
			mine := p.member
			p.member = mine + "2"
			steps.Do(p.opens("1", "4"))
			steps.Do(p.Cap.Close(p.ctx, []driver.Conn{p.conn("1")}))
			p.member = mine
			p.opened = p.opened[:3]
			return p.registered("1", "2", "3")
		}),
		capCase("odd-names", func(p *player) error {
			mine := p.member
			for _, odd := range []string{"{a}", "}{", "a b", "ü:*?[x]", "a\x00b", "a\nb", `"'\`} {
				p.member, p.opened = odd+mine, nil
				steps.Named(first(p.opens("1", "2", "3"), p.expect(three, "4", "1"), p.registered("2", "3", "4")), "member %q", p.member)
			}
			return nil
		}),
		capCase("close-gives-the-place-back", func(p *player) error {
			steps.Do(p.opens("1", "2", "3"))
			steps.Named(p.Cap.Close(p.ctx, []driver.Conn{p.conn("2"), p.conn("never"), {Member: name("nobody"), ID: "x.1", Token: "t"}}), "close")
			steps.Do(first(p.registered("1", "3"), p.opens("4"), p.registered("1", "3", "4")))
			// The tab that closed its stream was not evicted.
			again := p.conn("5")
			again.Token = p.conn("2").Token
			_, err := p.open(three, again)
			steps.Named(err, "a tab that closed its stream opens another")
			return p.registered("3", "4", "5")
		}),
		capCase("openings-race", raceToOpen),
	}
}

// raceToOpen opens from all peers at once: afterwards each is either registered or
// a victim.
func raceToOpen(p *player) error {
	const many = 60
	var mu sync.Mutex
	var conns []driver.Conn
	victims := map[string]int{}
	var failed error
	var all sync.WaitGroup
	for i := range many {
		c := p.conn(fmt.Sprint(i))
		conns = append(conns, c)
		all.Go(func() {
			got, err := p.Peers[i%len(p.Peers)].Open(p.ctx, three, p.live, c)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			for _, v := range got.Evicted {
				victims[v.ID]++
			}
		})
	}
	all.Wait()
	if failed != nil {
		return fmt.Errorf("open: %w", failed)
	}
	missing, err := p.Cap.Gone(p.ctx, conns)
	steps.Named(err, "gone")
	if left := many - len(missing); left != three.Max {
		return fmt.Errorf("%d are registered", left)
	}
	for _, c := range conns {
		gone := slices.ContainsFunc(missing, func(m driver.Missing) bool { return m.Conn == c })
		if n := victims[c.ID]; gone && n != 1 || !gone && n != 0 {
			return fmt.Errorf("%s is gone: %v, and was named %d times", c.ID, gone, n)
		}
	}
	return nil
}
