package queuetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

func orderCases() []testCase {
	return []testCase{
		{Name: "order-of-arrival", Run: orderOfArrival},
		{Name: "order-within-a-call", Run: orderWithinACall},
		{Name: "one-place-each", Run: onePlaceEach},
		{Name: "first-order-is-the-time", Run: firstOrderIsTheTime},
		{Name: "ahead-is-exact", Run: aheadIsExact},
	}
}

// orderOfArrival: consecutive calls, from users whose ids would sort the other way
// round.
func orderOfArrival(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 40)
	var last int64
	for i, user := range users {
		p.store = h.Peers[i%len(h.Peers)]
		o, err := p.join(user)
		if err != nil {
			return err
		}
		if o[0] <= last {
			return fmt.Errorf("%s has order %d, and who came before them %d", user, o[0], last)
		}
		last = o[0]
	}
	if err := p.threshold(15); err != nil {
		return err
	}
	return p.admits("with 15 places", users[:15]...)
}

func orderWithinACall(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", driver.MaxVisits)
	r := random(1)
	r.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	if err := p.threshold(300); err != nil {
		return err
	}
	a, err := p.admit()
	if err != nil {
		return err
	}
	want := make([]driver.Admitted, 300)
	for i := range want {
		want[i] = driver.Admitted{User: users[i], Order: orders[i]}
	}
	if !slices.Equal(a.Admitted, want) {
		return fmt.Errorf("of %s the first 300 are not admitted by order: %v", abbreviate("arrivals", users), a.Admitted)
	}
	return nil
}

func onePlaceEach(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	got, err := p.visit(checks("b", "a", "b", "a", "b")...)
	if err != nil {
		return err
	}
	again, err := p.visit(checks("a", "b")...)
	if err != nil {
		return err
	}
	all := slices.Concat(got.Outcomes, again.Outcomes)
	for i, user := range []int{0, 1, 0, 1, 0, 1, 0} { // which of the first two it is
		if want := (driver.Outcome{Status: driver.Waiting, Order: all[user].Order, Ahead: user, New: i < 2}); all[i] != want {
			return fmt.Errorf("visit %d of two users is answered %+v, want %+v", i, all[i], want)
		}
	}
	if again.Waiting != 2 || again.Joined != 2 {
		return fmt.Errorf("two users checked several times, and the room is %+v", again.State)
	}
	return nil
}

// firstOrderIsTheTime lets a room that lost its state line newcomers up behind
// those it had.
func firstOrderIsTheTime(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	before, err := p.state()
	if err != nil {
		return err
	}
	orders, err := p.join("a")
	if err != nil {
		return err
	}
	after, err := p.state()
	if err != nil {
		return err
	}
	low, high := before.Now.Add(-time.Second).UnixMicro(), after.Now.Add(time.Second).UnixMicro()
	if orders[0] < low || orders[0] > high {
		return fmt.Errorf("the first order is %d between %d and %d", orders[0], low, high)
	}
	return nil
}

// aheadIsExact: over several blocks, with gaps, asked from both ends.
func aheadIsExact(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 3500)
	if _, err := p.join(users...); err != nil {
		return err
	}
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
	if _, err := p.visit(visits(driver.Leave, leave...)...); err != nil {
		return err
	}
	got, err := p.visit(visits(driver.Heartbeat, stay...)...)
	if err != nil {
		return err
	}
	for i, o := range got.Outcomes {
		if o.Status != driver.Waiting || o.Ahead != i || o.New {
			return fmt.Errorf("%d wait before %s, who is answered %+v", i, stay[i], o)
		}
	}
	if got.Waiting != len(stay) {
		return fmt.Errorf("%d wait, want %d", got.Waiting, len(stay))
	}
	return nil
}
