package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/queue/driver"
)

func concurrentCases() []testCase {
	return []testCase{
		{Name: "arrivals-race-for-places", Run: arrivalsRaceForPlaces},
		{Name: "admissions-race", Run: admissionsRace},
		{Name: "concurrent-instances", Run: concurrentInstances},
	}
}

// instances is the number of concurrent processes.
const instances = 8

// together runs the instances concurrently, each with a player of its own.
func together(p *player, run func(i int, p *player) error) error {
	errs := make([]error, instances)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range instances {
		own := *p
		own.store = p.h.Peers[i%len(p.h.Peers)]
		all.Go(func() {
			<-start
			errs[i] = run(i, &own)
		})
	}
	close(start)
	all.Wait()
	return errors.Join(errs...)
}

// arrivalsRaceForPlaces: eight users come to five places at once, many times.
func arrivalsRaceForPlaces(ctx context.Context, h Harness) error {
	for round := range 20 {
		p := newPlayer(ctx, h, limited(5))
		var outcomes [instances]driver.Outcome
		err := together(p, func(i int, p *player) (err error) {
			outcomes[i], err = p.one(driver.Visit{Kind: driver.Check, User: fmt.Sprint("user", i)})
			return err
		})
		if err != nil {
			return err
		}
		active, ahead := 0, map[int]bool{}
		for i, o := range outcomes {
			switch {
			case o.Status == driver.Active && o.New:
				active++
			case o.Status == driver.Waiting && o.New && !ahead[o.Ahead] && o.Ahead < instances-5:
				ahead[o.Ahead] = true
			default:
				return fmt.Errorf("round %d: arrival %d is answered %+v", round, i, o)
			}
		}
		if active != 5 {
			return fmt.Errorf("round %d: of eight who came to five places at once %d entered", round, active)
		}
		if err := p.counts("after the race", 3, 5, 0); err != nil {
			return err
		}
	}
	return nil
}

// admissionsRace: all instances together admit each user once, and as many as there
// are places.
func admissionsRace(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 1000)
	if _, err := p.join(users...); err != nil {
		return err
	}
	if err := p.threshold(770); err != nil {
		return err
	}
	var let [instances][]driver.Admitted
	err := together(p, func(i int, p *player) error {
		for range 3 {
			a, err := p.admit()
			if err != nil {
				return err
			}
			let[i] = append(let[i], a.Admitted...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	all := slices.Concat(let[:]...)
	slices.SortFunc(all, func(a, b driver.Admitted) int { return int(a.Order - b.Order) })
	got := make([]string, len(all))
	for i, one := range all {
		got[i] = one.User
	}
	if !slices.Equal(got, users[:770]) {
		return fmt.Errorf("the first 770 of 1,000 were to enter by eight instances at once: %s", abbreviate("admitted", got))
	}
	return p.counts("after the race", 1000, 0, 770)
}
