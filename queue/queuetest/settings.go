package queuetest

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

func settingsCases() []testCase {
	return []testCase{
		{Name: "closed-until-the-settings-are-known", Run: play(closedUntilTheSettingsAreKnown)},
		{Name: "nothing-set-keeps-a-pause", Run: play(nothingSetKeepsAPause)},
		{Name: "older-settings-change-nothing", Run: play(olderSettingsChangeNothing)},
		{Name: "challenge-of-operators-holds", Run: play(challengeOfOperatorsHolds)},
		{Name: "a-loss-closes-the-room", Needs: []conformance.Need{NeedLoss}, Run: play(aLossClosesTheRoom)},
	}
}

// guarded is rules of rooms with settings.
func guarded(threshold int) driver.Rules {
	r := limited(threshold)
	r.Closed = true
	return r
}

// knows brings settings in.
func (p *player) knows(version int64, c driver.Change) {
	c.Settings = &version
	if s := p.change(c); s.Closed || s.Settings < version {
		steps.Fail("after version %d of the settings the room is %+v", version, s)
	}
}

// closed expects a room that no user enters, and that does not know its settings.
func (p *player) closed(when string) {
	if s := p.state(); !s.Closed || !s.Paused || s.Settings != 0 {
		steps.Fail("%s the room is %+v, and should be closed", when, s)
	}
}

func closedUntilTheSettingsAreKnown(p *player) {
	p.r = guarded(3)
	p.closed("at first")
	p.join("a", "b")
	p.admits("while it is closed")
	p.closed("with users in line")
	p.knows(0, driver.Change{})
	p.admits("when nothing was set", "a", "b")
	p.enter("c")
	if s := p.state(); s.Closed || s.Paused {
		steps.Fail("the room is closed again: %+v", s)
	}
}

// nothingSetKeepsAPause: a room that was paused before it had settings stays so.
func nothingSetKeepsAPause(p *player) {
	p.r = limited(3)
	p.pause(true)
	p.join("a")
	p.r.Closed = true
	p.closed("with settings")
	p.knows(0, driver.Change{})
	p.admits("while it is paused")
	p.knows(1, driver.Change{Paused: new(false)})
	p.admits("when the pause is over", "a")
}

func olderSettingsChangeNothing(p *player) {
	p.r = guarded(1)
	expect := func(version int64, threshold int, paused bool) {
		if s := p.state(); s.Settings != version || s.Threshold != threshold || s.Paused != paused {
			steps.Fail("the room is %+v, want version %d, threshold %d, paused %t", s, version, threshold, paused)
		}
	}
	p.knows(5, driver.Change{Threshold: new(7), Paused: new(true)})
	expect(5, 7, true)
	p.knows(4, driver.Change{Threshold: new(9), Paused: new(false)})
	expect(5, 7, true)
	p.knows(0, driver.Change{})
	expect(5, 7, true)
	p.knows(5, driver.Change{Threshold: new(7), Paused: new(true)}) // once more
	expect(5, 7, true)
	p.knows(6, driver.Change{Threshold: new(2), Paused: new(false)})
	expect(6, 2, false)
	p.change(driver.Change{Clear: true, Settings: new(int64(3))})
	expect(6, 2, false)
}

// expectChallenge expects what operators have set of the challenge: nil, true or false.
func (p *player) expectChallenge(when string, want *bool) {
	if s := p.state(); switched(s.Challenge) != switched(want) {
		steps.Fail("%s the challenge is %s, want %s", when, switched(s.Challenge), switched(want))
	}
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
func challengeOfOperatorsHolds(p *player) {
	p.r = withLanes(queue.Lane{Name: "member", Share: 0.1})
	on, off := new(true), new(false)
	p.expectChallenge("at first", nil)
	p.change(driver.Change{Challenge: on})
	p.expectChallenge("without settings", on)
	p.change(driver.Change{Paused: off})
	p.change(driver.Change{Clear: true})
	p.expectChallenge("after a change without it and a clear", on)
	p.r.Closed = true
	p.closed("with settings")
	p.expectChallenge("before the settings are known", on)
	p.knows(1, driver.Change{Paused: off})
	p.expectChallenge("after settings without it", nil)
	p.knows(3, driver.Change{Challenge: off})
	p.expectChallenge("after it was turned off", off)
	p.change(driver.Change{Challenge: on, Settings: new(int64(2))})
	p.expectChallenge("after older settings", off)
	p.knows(4, driver.Change{Challenge: on, Shares: map[string]float64{"member": 0.5}})
	p.change(driver.Change{Threshold: new(5), Stock: &driver.Stock{}})
	p.expectChallenge("beside shares of lanes", on)
	if s := p.state(); s.Lanes[0].Share != 0.5 {
		steps.Fail("beside the challenge the share of a lane is %g, want 0.5", s.Lanes[0].Share)
	}
	p.knows(5, driver.Change{Shares: map[string]float64{"member": 0.2}})
	p.expectChallenge("after settings with shares alone", nil)
}

// aLossClosesTheRoom, and whatever was set is known by the settings alone.
func aLossClosesTheRoom(p *player) {
	p.r = guarded(1000)
	p.knows(3, driver.Change{Threshold: new(2), Paused: new(true), Challenge: new(true)})
	p.join("a", "b", "c")
	p.lose()
	p.join("b", "a", "d")
	p.closed("after a loss")
	p.admits("after a loss")
	p.expectChallenge("after a loss", nil)
	p.knows(3, driver.Change{Threshold: new(2), Paused: new(true), Challenge: new(true)})
	p.expectChallenge("after a loss, with settings", new(true))
	p.admits("after a loss of a paused room")
	p.knows(4, driver.Change{Threshold: new(2), Paused: new(false)})
	p.admits("after the pause", "b", "a")
}

// CheckSettings checks the promises of [queue.Settings] on an event with a random name.
func CheckSettings(ctx context.Context, s queue.Settings) error {
	event := eventName()
	expect := func(want queue.Setting) {
		got, err := s.Load(ctx, event)
		steps.Named(err, "load")
		threshold := func(s queue.Setting) int {
			if s.Threshold == nil {
				return -1
			}
			return *s.Threshold
		}
		if got.Version != want.Version || got.Paused != want.Paused || threshold(got) != threshold(want) ||
			!maps.Equal(got.Shares, want.Shares) || switched(got.Challenge) != switched(want.Challenge) || got.By != want.By || got.Why != want.Why || !got.At.Equal(want.At) {
			steps.Fail("the setting is %+v, want %+v", got, want)
		}
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC)
	first := queue.Setting{Version: 1, Paused: true, Shares: map[string]float64{"member": 0.4, "invited": 0}, Challenge: new(false), By: "kim", Why: "결제 점검; 50% \"down\"", At: at}
	second := queue.Setting{Version: 2, Threshold: new(0), By: "lee", At: at.Add(time.Hour)}
	conflicts := func(n int64) {
		if err := s.Save(ctx, event, queue.Setting{Version: n, Threshold: new(99)}); !errors.Is(err, queue.ErrConflict) {
			steps.Fail("version %d is saved out of its turn: %w", n, orNil(err))
		}
	}
	return steps.Try(func() {
		expect(queue.Setting{})
		conflicts(2)
		steps.Do(s.Save(ctx, event, first))
		expect(first)
		conflicts(1)
		conflicts(3)
		expect(first)
		steps.Do(s.Save(ctx, event, second))
		expect(second)
		steps.Do(s.Save(ctx, event+"x", first))
		expect(second)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := s.Load(ended, event); err == nil {
			steps.Fail("a load under an ended context is answered")
		}
		if err := s.Save(ended, event, queue.Setting{Version: 3}); err == nil {
			steps.Fail("a save under an ended context is answered")
		}
		expect(second)
	})
}
