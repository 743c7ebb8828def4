package ssetest

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sse/driver"
)

func ghostCases() []conformance.Case[CapHarness] {
	return []conformance.Case[CapHarness]{
		capCase("leases-end-unless-they-are-renewed", func(p *player) error {
			dead, back, resigned := name("instance"), name("instance"), name("instance")
			for _, i := range []string{dead, back, resigned} {
				lease := short
				if i == resigned {
					lease = long
				}
				if live, err := p.Cap.Renew(p.ctx, i, lease); err != nil || !slices.Contains(live.Instances, i) {
					return fmt.Errorf("%s renews its lease and is not alive: %+v, %v", i, live, err)
				}
			}
			steps.Named(p.Cap.Resign(p.ctx, resigned), "resign")
			p.Advance(pause)
			_, err := p.Cap.Renew(p.ctx, back, long)
			steps.Named(err, "renew a lease that ended")
			live, err := p.Cap.Renew(p.ctx, p.instance, long)
			steps.Named(err, "renew")
			for i, want := range map[string]bool{dead: false, back: true, resigned: false, p.instance: true} {
				if slices.Contains(live.Instances, i) != want {
					return fmt.Errorf("%s is alive: %v (%+v)", i, !want, live)
				}
			}
			if !live.At.After(p.live.At) {
				return fmt.Errorf("the store's clock went from %v to %v", p.live.At, live.At)
			}
			return nil
		}),
		capCase("too-old-is-a-ghost", func(p *player) error {
			steps.Do(p.opens("1", "2", "3"))
			p.Advance(pause)
			got, err := p.open(driver.Rules{Max: 3, Lifetime: short}, p.conn("4"))
			if err != nil || len(got.Evicted) != 0 || got.Ghosts != 3 {
				return fmt.Errorf("to three ghosts comes a fourth, and is answered %+v, %v", got, err)
			}
			steps.Do(p.registered("4"))
			// That evicted no stream.
			_, err = p.open(three, p.conn("1"))
			steps.Named(err, "the tab of a ghost comes back")
			return nil
		}),
		capCase("of-a-dead-instance-is-a-ghost", deadInstance),
		capCase("newer-than-the-list-is-no-ghost", func(p *player) error {
			// An instance that began after the list was read is not on it.
			p.Advance(pause)
			young := name("instance")
			steps.Get(p.Cap.Renew(p.ctx, young, long))
			mine := p.instance
			p.instance = young
			steps.Do(p.opens("1", "2", "3"))
			victim := p.conn("1")
			p.instance = mine
			got, err := p.open(three, p.conn("4"))
			if err != nil || got.Ghosts != 0 || !slices.Equal(got.Evicted, []driver.Conn{victim}) {
				return fmt.Errorf("the entries of an instance younger than the list: %+v, %v", got, err)
			}
			return nil
		}),
		capCase("sweep-removes-ghosts-only", sweep),
	}
}

// deadInstance: of two instances one does not renew its lease.
func deadInstance(p *player) error {
	mine, dead := p.instance, name("instance")
	steps.Get(p.Cap.Renew(p.ctx, dead, short))
	p.instance = dead
	steps.Do(p.opens("1", "2"))
	p.instance = mine
	steps.Do(p.opens("3"))
	p.Advance(pause + p.Margin)
	live := steps.Get(p.Cap.Renew(p.ctx, mine, long))
	p.live = live
	got, err := p.open(three, p.conn("4"))
	if err != nil || got.Ghosts != 2 || len(got.Evicted) != 0 {
		return fmt.Errorf("two are of a dead instance, and opening another answers %+v, %v", got, err)
	}
	steps.Named(first(p.opens("5"), p.expect(three, "6", "3")), "after the ghosts")
	return p.registered("4", "5", "6")
}

// sweep sweeps many members with ghosts, and some without.
func sweep(p *player) error {
	const members = 40
	mine, dead, base := p.instance, name("instance"), p.member
	// A member without an entry, of which an evicted tab is remembered.
	evicted, last := p.conn("1"), p.conn("2")
	steps.Do(first(p.opens("1"), p.expect(driver.Rules{Max: 1, Lifetime: long}, "2", "1"), p.Cap.Close(p.ctx, []driver.Conn{last})))
	steps.Get(p.Cap.Renew(p.ctx, dead, short))
	var ghosts, others []driver.Conn
	for i := range members {
		p.member = fmt.Sprint(base, i)
		p.instance = dead
		ghosts = append(ghosts, p.conn("1"))
		p.instance = mine
		others = append(others, p.conn("2"))
		for _, c := range []driver.Conn{ghosts[i], others[i]} {
			steps.Get(p.Cap.Open(p.ctx, three, p.live, c))
		}
	}
	p.Advance(pause + p.Margin)
	live := steps.Get(p.Cap.Renew(p.ctx, mine, long))
	// An instance that began after the list was read is not on it.
	p.instance, p.member = name("instance"), name("member")
	others = append(others, p.conn("1"))
	steps.Get(p.Cap.Renew(p.ctx, p.instance, long))
	steps.Do(p.opens("1"))
	removed, from := 0, ""
	for {
		swept, err := p.Cap.Sweep(p.ctx, three, live, from)
		steps.Named(err, "sweep from %q", from)
		removed += swept.Removed
		if swept.Done {
			break
		}
		from = swept.Next
	}
	if removed < members { // others may have ghosts on the same server
		return fmt.Errorf("%d ghosts of %d were removed", removed, members)
	}
	if missing, err := p.Cap.Gone(p.ctx, ghosts); err != nil || len(missing) != members {
		return fmt.Errorf("%d ghosts of %d are gone after a sweep, %v", len(missing), members, err)
	}
	if missing, err := p.Cap.Gone(p.ctx, others); err != nil || len(missing) != 0 {
		return fmt.Errorf("a sweep took %v, who live, %v", missing, err)
	}
	steps.Named(p.refused(evicted), "after a sweep")
	return p.Cap.Close(p.ctx, others)
}
