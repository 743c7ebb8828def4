package queuetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

func entryCases() []testCase {
	return []testCase{
		{Name: "enters-at-once", Run: entersAtOnce},
		{Name: "nobody-passes-the-line", Run: nobodyPassesTheLine},
		{Name: "threshold-changes", Run: thresholdChanges},
		{Name: "pause-and-resume", Run: pauseAndResume},
		{Name: "nobody-is-nobody", Run: nobodyIsNobody},
	}
}

// entersAtOnce: as many users as there are places, in one call.
func entersAtOnce(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(3))
	users := names("u", 5)
	got, err := p.visit(checks(users...)...)
	if err != nil {
		return err
	}
	for i, o := range got.Outcomes {
		want := driver.Outcome{Status: driver.Active, Order: o.Order, Left: p.r.Active, New: true, Entered: true}
		if i >= 3 {
			want = driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: i - 3, New: true}
		}
		if o != want || i > 0 && o.Order <= got.Outcomes[i-1].Order {
			return fmt.Errorf("arrival %d at three places is answered %+v, want %+v with a higher order", i, o, want)
		}
	}
	if got.Joined != 5 || got.Entered != 3 {
		return fmt.Errorf("five came and three entered, and the room is %+v", got.State)
	}
	return p.counts("after five came to three places", 2, 3, 0)
}

// nobodyPassesTheLine: there is a place, and a user in line waits for it.
func nobodyPassesTheLine(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(1))
	return steps(
		func() error { _, err := p.enter("inside"); return err },
		func() error { _, err := p.join("first"); return err },
		func() error { return p.threshold(10) },
		func() error { _, err := p.join("second"); return err },
		func() error { _, err := p.one(driver.Visit{Kind: driver.Done, User: "inside"}); return err },
		func() error { _, err := p.join("third", "fourth"); return err },
		func() error { return p.counts("while they wait for an admission", 4, 0, 0) },
		func() error { return p.admits("an admission", "first", "second", "third", "fourth") },
		func() error { _, err := p.enter("fifth"); return err },
	)
}

func thresholdChanges(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(2))
	users := names("u", 12)
	return steps(
		func() error { _, err := p.enter(users[:2]...); return err },
		func() error { _, err := p.join(users[2:]...); return err },
		func() error { return p.admits("a full room") },
		func() error { return p.threshold(6) },
		func() error { return p.admits("with four more places", users[2:6]...) },
		func() error { return p.threshold(0) },
		func() error { return p.admits("a closed room") },
		func() error { return p.counts("nobody is expelled", 6, 6, 0) },
		func() error { return p.threshold(5) },
		func() error { return p.admits("more inside than may be") },
		func() error {
			got, err := p.visit(visits(driver.Leave, users[0], users[2])...)
			if err == nil && (got.Outcomes[0].Status != driver.None || !got.Outcomes[0].New || !got.Outcomes[1].New) {
				err = fmt.Errorf("two leave, and are answered %+v", got.Outcomes)
			}
			return err
		},
		func() error { return p.admits("one place", users[6]) },
		func() error { return p.counts("a full room again", 5, 5, 0) },
	)
}

func pauseAndResume(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(5))
	return steps(
		func() error { _, err := p.enter("inside"); return err },
		func() error { return p.pause(true) },
		func() error { _, err := p.join("a", "b"); return err },
		func() error { return p.admits("while paused") },
		func() error { _, err := p.stands("while paused", "inside", driver.Active); return err },
		func() error { return p.threshold(9) }, // does not resume
		func() error { return p.admits("while paused with more places") },
		func() error { return p.pause(false) },
		func() error { _, err := p.join("c"); return err },
		func() error { return p.admits("after resuming", "a", "b", "c") },
	)
}

// nobodyIsNobody: calls of a user outside the room leave nothing behind.
func nobodyIsNobody(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(1))
	for _, place := range []string{"an empty room", "a full one"} {
		for _, kind := range []driver.Kind{driver.Heartbeat, driver.Leave, driver.Done, driver.Verify} {
			o, err := p.one(driver.Visit{Kind: kind, User: "nobody", Entry: 1})
			if err != nil {
				return err
			}
			if o != (driver.Outcome{}) {
				return fmt.Errorf("kind %d of nobody in %s is answered %+v", kind, place, o)
			}
		}
		if place == "a full one" {
			break
		}
		if err := p.counts("after nobody came", 0, 0, 0); err != nil {
			return err
		}
		if events, err := h.Store.Events(ctx); err != nil || slices.Contains(events, p.event) {
			return fmt.Errorf("nobody has been there, and the event is listed: %t, %v", err == nil, err)
		}
		if _, err := p.enter("somebody"); err != nil {
			return err
		}
		if _, err := p.join("next"); err != nil {
			return err
		}
	}
	return p.counts("after nobody came", 1, 1, 0)
}
