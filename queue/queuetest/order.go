package queuetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func orderCases() []testCase {
	return []testCase{
		{Name: "order-of-arrival", Run: play(orderOfArrival)},
		{Name: "order-within-a-call", Run: play(orderWithinACall)},
		{Name: "one-place-each", Run: play(onePlaceEach)},
		{Name: "first-order-is-the-time", Run: play(firstOrderIsTheTime)},
		{Name: "ahead-is-exact", Run: play(aheadIsExact)},
	}
}

// orderOfArrival: consecutive calls, from users whose ids would sort the other way
// round.
func orderOfArrival(p *player) {
	users := names("u", 40)
	var last int64
	for i, user := range users {
		p.store = p.h.Peers[i%len(p.h.Peers)]
		o := p.join(user)
		if o[0] <= last {
			steps.Fail("%s has order %d, and who came before them %d", user, o[0], last)
		}
		last = o[0]
	}
	p.threshold(15)
	p.admits("with 15 places", users[:15]...)
}

func orderWithinACall(p *player) {
	users := names("u", driver.MaxVisits)
	r := random(1)
	r.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
	orders := p.join(users...)
	p.threshold(300)
	a := p.admit()
	want := make([]driver.Admitted, 300)
	for i := range want {
		want[i] = driver.Admitted{User: users[i], Order: orders[i]}
	}
	if !slices.Equal(a.Admitted, want) {
		steps.Fail("of %s the first 300 are not admitted by order: %v", abbreviate("arrivals", users), a.Admitted)
	}
}

func onePlaceEach(p *player) {
	got := p.visit(checks("b", "a", "b", "a", "b")...)
	again := p.visit(checks("a", "b")...)
	all := slices.Concat(got.Outcomes, again.Outcomes)
	for i, user := range []int{0, 1, 0, 1, 0, 1, 0} { // which of the first two it is
		if want := (driver.Outcome{Status: driver.Waiting, Order: all[user].Order, Ahead: user, New: i < 2}); all[i] != want {
			steps.Fail("visit %d of two users is answered %+v, want %+v", i, all[i], want)
		}
	}
	if again.Waiting != 2 || again.Joined != 2 {
		steps.Fail("two users checked several times, and the room is %+v", again.State)
	}
}

// firstOrderIsTheTime lets a room that lost its state line newcomers up behind
// those it had.
func firstOrderIsTheTime(p *player) {
	before := p.state()
	orders := p.join("a")
	after := p.state()
	low, high := before.Now.Add(-time.Second).UnixMicro(), after.Now.Add(time.Second).UnixMicro()
	if orders[0] < low || orders[0] > high {
		steps.Fail("the first order is %d between %d and %d", orders[0], low, high)
	}
}

// aheadIsExact: over several blocks, with gaps, asked from both ends.
func aheadIsExact(p *player) {
	users, _ := p.crowd("u", 3500)
	r := random(2)
	var stay, leave []string
	for i, user := range users {
		switch {
		case i >= 1200 && i < 2300, r.IntN(4) == 0: // a block of them leaves whole
			leave = append(leave, user)
		default:
			stay = append(stay, user)
		}
	}
	p.visit(visits(driver.Leave, leave...)...)
	got := p.visit(visits(driver.Heartbeat, stay...)...)
	for i, o := range got.Outcomes {
		if o.Status != driver.Waiting || o.Ahead != i || o.New {
			steps.Fail("%d wait before %s, who is answered %+v", i, stay[i], o)
		}
	}
	if got.Waiting != len(stay) {
		steps.Fail("%d wait, want %d", got.Waiting, len(stay))
	}
}
