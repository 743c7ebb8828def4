package queuetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

func settingsCases() []testCase {
	return []testCase{
		{Name: "closed-until-the-settings-are-known", Run: closedUntilTheSettingsAreKnown},
		{Name: "nothing-set-keeps-a-pause", Run: nothingSetKeepsAPause},
		{Name: "older-settings-change-nothing", Run: olderSettingsChangeNothing},
		{Name: "challenge-of-operators-holds", Run: challengeOfOperatorsHolds},
		{Name: "a-loss-closes-the-room", Needs: []conformance.Need{NeedLoss}, Run: aLossClosesTheRoom},
	}
}

// guarded is rules of rooms with settings.
func guarded(threshold int) driver.Rules {
	r := limited(threshold)
	r.Closed = true
	return r
}

// knows brings settings in.
func (p *player) knows(version int64, c driver.Change) error {
	c.Settings = &version
	s, err := p.change(c)
	if err == nil && (s.Closed || s.Settings < version) {
		err = fmt.Errorf("after version %d of the settings the room is %+v", version, s)
	}
	return err
}

// closed expects a room that no user enters, and that does not know its settings.
func (p *player) closed(when string) error {
	s, err := p.state()
	if err == nil && (!s.Closed || !s.Paused || s.Settings != 0) {
		err = fmt.Errorf("%s the room is %+v, and should be closed", when, s)
	}
	return err
}

func closedUntilTheSettingsAreKnown(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(3))
	return steps(
		func() error { return p.closed("at first") },
		func() error { _, err := p.join("a", "b"); return err },
		func() error { return p.admits("while it is closed") },
		func() error { return p.closed("with users in line") },
		func() error { return p.knows(0, driver.Change{}) },
		func() error { return p.admits("when nothing was set", "a", "b") },
		func() error { _, err := p.enter("c"); return err },
		func() error {
			s, err := p.state()
			if err == nil && (s.Closed || s.Paused) {
				err = fmt.Errorf("the room is closed again: %+v", s)
			}
			return err
		},
	)
}

// nothingSetKeepsAPause: a room that was paused before it had settings stays so.
func nothingSetKeepsAPause(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(3))
	return steps(
		func() error { return p.pause(true) },
		func() error { _, err := p.join("a"); return err },
		func() error { p.r.Closed = true; return p.closed("with settings") },
		func() error { return p.knows(0, driver.Change{}) },
		func() error { return p.admits("while it is paused") },
		func() error { return p.knows(1, driver.Change{Paused: new(false)}) },
		func() error { return p.admits("when the pause is over", "a") },
	)
}

func olderSettingsChangeNothing(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(1))
	expect := func(version int64, threshold int, paused bool) error {
		s, err := p.state()
		if err == nil && (s.Settings != version || s.Threshold != threshold || s.Paused != paused) {
			err = fmt.Errorf("the room is %+v, want version %d, threshold %d, paused %t", s, version, threshold, paused)
		}
		return err
	}
	return steps(
		func() error { return p.knows(5, driver.Change{Threshold: new(7), Paused: new(true)}) },
		func() error { return expect(5, 7, true) },
		func() error { return p.knows(4, driver.Change{Threshold: new(9), Paused: new(false)}) },
		func() error { return expect(5, 7, true) },
		func() error { return p.knows(0, driver.Change{}) },
		func() error { return expect(5, 7, true) },
		func() error { return p.knows(5, driver.Change{Threshold: new(7), Paused: new(true)}) }, // once more
		func() error { return expect(5, 7, true) },
		func() error { return p.knows(6, driver.Change{Threshold: new(2), Paused: new(false)}) },
		func() error { return expect(6, 2, false) },
		func() error { _, err := p.change(driver.Change{Clear: true, Settings: new(int64(3))}); return err },
		func() error { return expect(6, 2, false) },
	)
}

// expectChallenge expects what operators have set of the challenge: nil, true or false.
func (p *player) expectChallenge(when string, want *bool) error {
	s, err := p.state()
	if err == nil && switched(s.Challenge) != switched(want) {
		err = fmt.Errorf("%s the challenge is %s, want %s", when, switched(s.Challenge), switched(want))
	}
	return err
}

func switched(on *bool) string {
	switch {
	case on == nil:
		return "not set"
	case *on:
		return "on"
	}
	return "off"
}

// challengeOfOperatorsHolds, with settings and without them. Settings that have none say that
// it is not set.
func challengeOfOperatorsHolds(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, withLanes(queue.Lane{Name: "member", Share: 0.1}))
	on, off := new(true), new(false)
	sets := func(c driver.Change) error { _, err := p.change(c); return err }
	return steps(
		func() error { return p.expectChallenge("at first", nil) },
		func() error { return sets(driver.Change{Challenge: on}) },
		func() error { return p.expectChallenge("without settings", on) },
		func() error { return sets(driver.Change{Paused: off}) },
		func() error { return sets(driver.Change{Clear: true}) },
		func() error { return p.expectChallenge("after a change without it and a clear", on) },
		func() error { p.r.Closed = true; return p.closed("with settings") },
		func() error { return p.expectChallenge("before the settings are known", on) },
		func() error { return p.knows(1, driver.Change{Paused: off}) },
		func() error { return p.expectChallenge("after settings without it", nil) },
		func() error { return p.knows(3, driver.Change{Challenge: off}) },
		func() error { return p.expectChallenge("after it was turned off", off) },
		func() error { return sets(driver.Change{Challenge: on, Settings: new(int64(2))}) },
		func() error { return p.expectChallenge("after older settings", off) },
		func() error {
			return p.knows(4, driver.Change{Challenge: on, Shares: map[string]float64{"member": 0.5}})
		},
		func() error { return sets(driver.Change{Threshold: new(5), Stock: &driver.Stock{}}) },
		func() error { return p.expectChallenge("beside shares of lanes", on) },
		func() error {
			s, err := p.state()
			if err == nil && s.Lanes[0].Share != 0.5 {
				err = fmt.Errorf("beside the challenge the share of a lane is %g, want 0.5", s.Lanes[0].Share)
			}
			return err
		},
		func() error { return p.knows(5, driver.Change{Shares: map[string]float64{"member": 0.2}}) },
		func() error { return p.expectChallenge("after settings with shares alone", nil) },
	)
}

// aLossClosesTheRoom, and whatever was set is known by the settings alone.
func aLossClosesTheRoom(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(1000))
	return steps(
		func() error {
			return p.knows(3, driver.Change{Threshold: new(2), Paused: new(true), Challenge: new(true)})
		},
		func() error { _, err := p.join("a", "b", "c"); return err },
		func() error { return h.Lose(ctx) },
		func() error { _, err := p.join("b", "a", "d"); return err },
		func() error { return p.closed("after a loss") },
		func() error { return p.admits("after a loss") },
		func() error { return p.expectChallenge("after a loss", nil) },
		func() error {
			return p.knows(3, driver.Change{Threshold: new(2), Paused: new(true), Challenge: new(true)})
		},
		func() error { return p.expectChallenge("after a loss, with settings", new(true)) },
		func() error { return p.admits("after a loss of a paused room") },
		func() error { return p.knows(4, driver.Change{Threshold: new(2), Paused: new(false)}) },
		func() error { return p.admits("after the pause", "b", "a") },
	)
}

// CheckSettings checks the promises of [queue.Settings] on an event with a random name.
func CheckSettings(ctx context.Context, s queue.Settings) error {
	event := eventName()
	expect := func(want queue.Setting) error {
		got, err := s.Load(ctx, event)
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		threshold := func(s queue.Setting) int {
			if s.Threshold == nil {
				return -1
			}
			return *s.Threshold
		}
		if got.Version != want.Version || got.Paused != want.Paused || threshold(got) != threshold(want) ||
			!maps.Equal(got.Shares, want.Shares) || switched(got.Challenge) != switched(want.Challenge) || got.By != want.By || got.Why != want.Why || !got.At.Equal(want.At) {
			return fmt.Errorf("the setting is %+v, want %+v", got, want)
		}
		return nil
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC)
	first := queue.Setting{Version: 1, Paused: true, Shares: map[string]float64{"member": 0.4, "invited": 0}, Challenge: new(false), By: "kim", Why: "결제 점검; 50% \"down\"", At: at}
	second := queue.Setting{Version: 2, Threshold: new(0), By: "lee", At: at.Add(time.Hour)}
	refused := func(n int64) error {
		if err := s.Save(ctx, event, queue.Setting{Version: n, Threshold: new(99)}); !errors.Is(err, queue.ErrConflict) {
			return fmt.Errorf("version %d is saved out of its turn: %w", n, orNil(err))
		}
		return nil
	}
	return steps(
		func() error { return expect(queue.Setting{}) },
		func() error { return refused(2) },
		func() error { return s.Save(ctx, event, first) },
		func() error { return expect(first) },
		func() error { return refused(1) },
		func() error { return refused(3) },
		func() error { return expect(first) },
		func() error { return s.Save(ctx, event, second) },
		func() error { return expect(second) },
		func() error { return s.Save(ctx, event+"x", first) },
		func() error { return expect(second) },
		func() error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := s.Load(ended, event); err == nil {
				return errors.New("a load under an ended context is answered")
			}
			if err := s.Save(ended, event, queue.Setting{Version: 3}); err == nil {
				return errors.New("a save under an ended context is answered")
			}
			return expect(second)
		},
	)
}
