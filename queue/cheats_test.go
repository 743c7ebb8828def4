package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// TestCheatsMoveNoHonestUser: half of a crowd cheats, the instances are killed one after
// the other, and the store loses its last second, or all. Judged by the answers that the
// clients got: each honest person enters once, and no person who came later enters before,
// apart from the polls; positions rise by those alone whom a loss has put back; and no more
// than the threshold are inside, apart from those whose admission was lost.
func TestCheatsMoveNoHonestUser(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { cheat(t, seed) }) })
	}
}

func cheat(t *testing.T, seed uint64) {
	const people, places, over = 600, 20, 10 * time.Minute
	store := newSpy(t)
	m := &lineModel{t: t, chance: rand.New(rand.NewPCG(seed, 11)), store: store, places: places}
	instance := func() *queue.Room {
		return open(t, store, queue.Config{Threshold: places, Active: time.Minute, Random: m.chance.Float64})
	}
	m.rooms = []*queue.Room{instance(), instance(), instance(), instance()}
	stop := run(t, m.rooms[0])
	defer func() { stop() }()
	began := time.Now()
	for step := 0; time.Since(began) < over; step++ {
		crowd := 10 // at first, and then one after the other
		if step > 30 {
			crowd = 1
		}
		for range min(crowd, people-len(m.crowd)) {
			m.join()
		}
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if step%40 == 39 { // an instance is killed, with all that it knows
			i := step / 40 % 4
			if i == 0 {
				stop()
			}
			if m.rooms[i] = instance(); i == 0 {
				stop = run(t, m.rooms[0])
			}
		}
		switch {
		case step%100 == 71:
			m.save()
		case step%100 == 75:
			m.lose(false)
		case step == 1210 && seed%2 == 1:
			m.lose(true)
		}
		now := time.Now()
		for _, h := range m.crowd {
			m.act(h, now)
		}
	}
	m.judge(began)
}

// judge compares the entrances with the arrivals.
func (m *lineModel) judge(began time.Time) {
	// A poll is as late as an interval, the age of a snapshot and a step of the crowd.
	const late = 3500 * time.Millisecond
	due := slices.Clone(m.entered)
	turns := map[*human]int{}
	for _, e := range m.entered {
		turns[e.human]++
		if !e.since.IsZero() {
			turns[e.human]--
		}
	}
	honestIn := 0
	for _, h := range m.crowd {
		switch {
		case h.kind != honest:
		case turns[h] == 0: // still in line
			due = append(due, entrance{h, h.arrival, time.Now(), h.undone, false})
		case turns[h] > 1:
			m.t.Errorf("%s entered %d times", h.user, turns[h])
		default:
			honestIn++
		}
	}
	for _, e := range due {
		if e.kind != honest {
			continue
		}
		for _, o := range m.entered {
			if o.undone {
				continue
			}
			if o.arrival > e.arrival && o.in.After(e.since) && e.in.Sub(o.in) > late {
				m.t.Errorf("%s was inside at %v, and %s, who came later, at %v", e.user, e.in.Sub(began), o.user, o.in.Sub(began))
				break
			}
		}
	}
	if honestIn < len(m.crowd)/4 {
		m.t.Errorf("%d of the honest entered", honestIn)
	}
	m.t.Logf("%d entrances, %d honest people entered; losses undid %d admissions", len(m.entered), honestIn, m.lost)
}
