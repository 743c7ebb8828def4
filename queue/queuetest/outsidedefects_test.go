package queuetest_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// changing is a defect of changes.
func changing(change func(b *backend, c call, change driver.Change) (driver.State, error)) hooks {
	return hooks{change: change}
}

// outsideDefects are of input from outside: positions, tickets, and events.
func outsideDefects() []defect {
	return slices.Concat(gateDefects(), settingsDefects(), stockDefects(), drawDefects(), lossDefects(), eventDefects())
}

func gateDefects() []defect {
	return []defect{
		{"lets in who has no position", []string{"gate-lets-positions-in"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			visits = slices.Clone(visits)
			for i := range visits {
				if visits[i].Position == 0 {
					visits[i].Position = 100_000
				}
			}
			return c.visit(beats, visits...)
		}}},
		{"lines positions up as they come", []string{"gate-lets-positions-in", "look-in-pages", "gate-switched-off"}, asked(func(b *backend, _ call, v driver.Visit) driver.Visit {
			if v.Position > 0 {
				b.mu.Lock()
				b.notes["position"]++
				v.Position = 10_000 + b.notes["position"]
				b.mu.Unlock()
			}
			return v
		})},
		{"takes a position twice", []string{"position-counts-once"}, answered(func(b *backend, c call, v driver.Visit, _ driver.State, o *driver.Outcome) {
			b.mu.Lock()
			defer b.mu.Unlock()
			at := fmt.Sprint(c.event, v.Position)
			if before, ok := b.notes[at]; ok && v.Position > 0 {
				o.Order = before
			}
			b.notes[at] = o.Order
		})},
		{"lines a used position up behind those that came", []string{"position-counts-once", "a-shared-position-moves-nobody"}, hooks{visit: func(b *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			got, err := c.visit(beats, visits...)
			for i, v := range visits {
				b.mu.Lock()
				highest := max(b.notes[c.event], v.Position)
				b.mu.Unlock()
				for err == nil && v.Position > 0 && got.Outcomes[i].Status == driver.Gated {
					highest++
					v.Position = highest
					var again driver.Visited
					again, err = c.visit(driver.Beats{}, v)
					got.State, got.Outcomes[i] = again.State, again.Outcomes[0]
				}
				b.mu.Lock()
				b.notes[c.event] = highest
				b.mu.Unlock()
			}
			return got, err
		}}},
		{"goes on below the highest position", []string{"gate-switched-off"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Gate != nil && !change.Gate.On {
				change.Gate = &driver.Gate{}
			}
			return c.change(change)
		})},
		{"begins with positions before those who wait", []string{"gate-lets-positions-in"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Gate != nil && change.Gate.On {
				change.Gate = &driver.Gate{On: true, Positions: change.Gate.Positions + 2000}
			}
			return c.change(change)
		})},
		{"switches on what is on", []string{"gate-switched-twice"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Gate != nil && change.Gate.On {
				if _, err := c.change(driver.Change{Gate: &driver.Gate{}}); err != nil {
					return driver.State{}, err
				}
			}
			return c.change(change)
		})},
	}
}

// hearing is a defect in when a process last heard of an epoch.
func hearing(change func(h *driver.Heard)) hooks {
	return hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
		for i := range beats.Heard {
			change(&beats.Heard[i])
		}
		return c.visit(beats, visits...)
	}}
}

func lossDefects() []defect {
	return []defect{
		{"keeps who is inside when cleared", []string{"clear-takes-everybody-out", "events-are-apart"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			s, err := c.change(change)
			if change.Clear && err == nil {
				_, err = c.visit(driver.Beats{}, driver.Visit{User: "u000030"})
			}
			return s, err
		})},
		{"honours tickets of what was cleared", []string{"cleared-tickets-are-worth-nothing"}, answered(func(_ *backend, _ call, v driver.Visit, s driver.State, o *driver.Outcome) {
			if v.Epoch != 0 && v.Epoch != s.Epoch && o.New {
				o.Order = v.Order
			}
		})},
		{"settles after clearing", []string{"cleared-tickets-are-worth-nothing"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			got, err := c.visit(beats, visits...)
			got.Settling = c.r.Settle
			return got, err
		}}},
		{"keeps its epoch when it loses its state", []string{"loss-begins-an-epoch"}, hooks{
			look: func(_ *backend, c call, epoch, version uint64) (driver.View, error) {
				v, err := c.look(0, 0)
				v.Epoch = 7
				return v, err
			},
		}},
		{"counts on when it loses its state", []string{"loss-begins-an-epoch", "lost-line-forms-again"}, hooks{lose: func(b *backend) error {
			b.mu.Lock()
			b.now = b.now.Add(-time.Hour)
			b.mu.Unlock()
			return b.empty()
		}}},
		{"does not read tickets", []string{"lost-line-forms-again", "lost-ticket-counts-once", "room-settles-after-a-loss", "ticket-from-before-the-loss", "ticket-from-before-an-outage", "random-walks"},
			asked(func(_ *backend, _ call, v driver.Visit) driver.Visit {
				v.Epoch, v.Order = 0, 0
				return v
			})},
		{"takes a ticket twice", []string{"lost-ticket-counts-once", "random-walks"}, answered(func(_ *backend, _ call, v driver.Visit, s driver.State, o *driver.Outcome) {
			if v.Epoch != 0 && v.Epoch != s.Epoch && o.New {
				o.Order = v.Order
			}
		})},
		{"gives an order out again", []string{"goes-on-above-what-is-known"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			beats.Highest = 0
			return c.visit(beats, visits...)
		}}},
		{"does not know tickets of lost writes", []string{"tickets-of-lost-writes"}, asked(func(_ *backend, c call, v driver.Visit) driver.Visit {
			if v.Epoch == c.state().Epoch {
				v.Epoch = 0
			}
			return v
		})},
		{"takes tickets of lost writes for ever", []string{"tickets-of-lost-writes"}, asked(func(_ *backend, c call, v driver.Visit) driver.Visit {
			v.Until = c.state().Now
			return v
		})},
		{"takes a ticket of lost writes twice", []string{"tickets-of-lost-writes", "lost-ticket-counts-once"}, answered(func(_ *backend, _ call, v driver.Visit, s driver.State, o *driver.Outcome) {
			if v.Epoch == s.Epoch && o.New {
				o.Order = v.Order
			}
		})},
		{"settles with the first ticket", []string{"newcomer-before-the-first-ticket", "random-walks"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			beats.Heard = [2]driver.Heard{}
			return c.visit(beats, visits...)
		}}},
		{"does not settle", []string{"room-settles-after-a-loss", "lost-line-forms-again", "random-walks"}, ruled(func(r *driver.Rules) { r.Settle = 0 })},
		{"takes a ticket whenever it comes", []string{"ticket-to-a-settled-room", "random-walks"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			settle := c.r.Settle
			c.r.Settle = 1000 * time.Hour
			got, err := c.visit(beats, visits...)
			got.Settling = min(got.Settling, settle)
			return got, err
		}}},
		{"takes tickets however old", []string{"ticket-from-before-the-loss", "ticket-from-before-an-outage", "ticket-of-a-lapsed-room", "random-walks"},
			asked(func(_ *backend, c call, v driver.Visit) driver.Visit {
				v.Until = c.state().Now.Add(time.Hour)
				return v
			})},
		{"does not listen when a room was heard of", []string{"ticket-from-before-an-outage", "random-walks"}, hearing(func(h *driver.Heard) { *h = driver.Heard{} })},
		{"forgets when a room was heard of", []string{"ticket-from-before-an-outage"}, hooks{visit: func(b *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			if beats.Heard == [2]driver.Heard{} {
				visits = slices.Clone(visits)
				for i := range visits {
					visits[i].Epoch = 0
				}
			}
			return c.visit(beats, visits...)
		}}},
		{"takes an epoch for lost that is there", []string{"ticket-from-before-an-outage"}, hearing(func(h *driver.Heard) {
			if h.Epoch != 0 {
				h.Epoch = 1
			}
		})},
		{"believes in a loss after a day without a call", []string{"ticket-of-a-lapsed-room"}, asked(func(_ *backend, c call, v driver.Visit) driver.Visit {
			if now := c.state().Now; !v.Until.IsZero() && v.Until.Before(now.Add(-driver.Lapse)) {
				v.Until = now
			}
			return v
		})},
	}
}

func eventDefects() []defect {
	return []defect{
		{"has one room for all events", []string{"events-are-apart"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			c.event = "room"
			return c.visit(beats, visits...)
		}}},
		{"lists no event", []string{"events-are-listed", "events-are-forgotten"}, hooks{events: func(*backend, call) ([]string, error) { return nil, nil }}},
		{"lists whatever it was asked about", []string{"nobody-is-nobody"}, asked(func(_ *backend, c call, v driver.Visit) driver.Visit {
			if _, err := c.visit(driver.Beats{}, driver.Visit{User: "!"}, driver.Visit{Kind: driver.Leave, User: "!"}); err != nil {
				panic(err)
			}
			return v
		})},
		{"lists events for ever", []string{"events-are-forgotten"}, hooks{events: func(b *backend, c call) ([]string, error) {
			events, err := c.store.Events(c.ctx)
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, event := range events {
				b.notes[event] = 1
			}
			for event := range b.notes {
				if !slices.Contains(events, event) {
					events = append(events, event)
				}
			}
			return events, err
		}}},
		{"forgets events where nobody waits", []string{"events-are-listed", "events-are-forgotten"}, hooks{events: func(_ *backend, c call) ([]string, error) {
			events, err := c.store.Events(c.ctx)
			return slices.DeleteFunc(events, func(event string) bool {
				c.event, c.r = event, driver.Rules{Batch: 1, Active: 1, Seen: time.Hour, NoShow: 1, Tick: 1, SweepEvery: 1}
				return c.state().Waiting == 0
			}), err
		}}},
	}
}
