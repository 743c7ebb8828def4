package queuetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func concurrentCases() []testCase {
	return []testCase{
		{Name: "arrivals-race-for-places", Run: play(arrivalsRaceForPlaces)},
		{Name: "admissions-race", Run: play(admissionsRace)},
		{Name: "concurrent-instances", Run: play(concurrentInstances)},
	}
}

// instances is the number of concurrent processes.
const instances = 8

// together runs the instances concurrently, each with a player of its own.
func together(p *player, run func(i int, p *player)) {
	errs := make([]error, instances)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range instances {
		own := *p
		own.store = p.h.Peers[i%len(p.h.Peers)]
		all.Go(func() {
			<-start
			errs[i] = steps.Try(func() { run(i, &own) })
		})
	}
	close(start)
	all.Wait()
	steps.Do(errors.Join(errs...))
}

// arrivalsRaceForPlaces: eight users come to five places at once, many times.
func arrivalsRaceForPlaces(p *player) {
	for round := range 20 {
		p := p.other(limited(5))
		var outcomes [instances]driver.Outcome
		together(p, func(i int, p *player) {
			outcomes[i] = p.one(driver.Visit{Kind: driver.Check, User: fmt.Sprint("user", i)})
		})
		active, ahead := 0, map[int]bool{}
		for i, o := range outcomes {
			switch {
			case o.Status == driver.Active && o.New:
				active++
			case o.Status == driver.Waiting && o.New && !ahead[o.Ahead] && o.Ahead < instances-5:
				ahead[o.Ahead] = true
			default:
				steps.Fail("round %d: arrival %d is answered %+v", round, i, o)
			}
		}
		if active != 5 {
			steps.Fail("round %d: of eight who came to five places at once %d entered", round, active)
		}
		p.counts("after the race", 3, 5, 0)
	}
}

// admissionsRace: all instances together admit each user once, and as many as there
// are places.
func admissionsRace(p *player) {
	users, _ := p.crowd("u", 1000)
	p.threshold(770)
	var let [instances][]driver.Admitted
	together(p, func(i int, p *player) {
		for range 3 {
			let[i] = append(let[i], p.admit().Admitted...)
		}
	})
	all := slices.Concat(let[:]...)
	slices.SortFunc(all, func(a, b driver.Admitted) int { return int(a.Order - b.Order) })
	if got := usersOf(all); !slices.Equal(got, users[:770]) {
		steps.Fail("the first 770 of 1,000 were to enter by eight instances at once: %s", abbreviate("admitted", got))
	}
	p.counts("after the race", 1000, 0, 770)
}
