package bustest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/steps"
)

func groupAdminCases() []Case {
	return []Case{
		{"GroupsAreListed", groupsAreListed},
		{"AResetGroupGetsEverythingAgain", resetGroup},
		{"AResetGroupBeginsAtAPlace", resetToPlaces},
		{"AResetGroupBeginsAtItsPositions", resetToPositions},
		{"ADeletedGroupBeginsAnew", deletedGroup},
		{"ALiveGroupIsLeftAlone", liveGroup},
		{"AGroupThatIsNotThereIsNotMade", absentGroup},
		{"ReadConsumesNothing", readConsumesNothing},
	}
}

// handled makes a group that acknowledges messages of a key.
func handled(ctx context.Context, b *bus.Bus, topic, group, key string, from, to int) (err error) {
	defer steps.End(&err)
	steps.Do(declare(ctx, b, topic, group))
	steps.Do(b.Publisher().Publish(topic, series(key, from, to)...))
	return getsAll(ctx, b, topic, group, payloads(key, from, to)...)
}

// listed finds a group of a topic; ok is false when it is not listed.
func listed(ctx context.Context, b *bus.Bus, topic, group string) (g driver.Group, ok bool, err error) {
	all, err := b.Groups(ctx, topic)
	if err != nil {
		return g, false, err
	}
	i := slices.IndexFunc(all, func(g driver.Group) bool { return g.Topic == topic && g.Group == group })
	if i < 0 {
		return g, false, nil
	}
	return all[i], true, nil
}

// until polls until a listed group meets the condition: a broker may need a moment to count its
// members.
func until(ctx context.Context, b *bus.Bus, topic, group, what string, is func(driver.Group) bool) error {
	for {
		g, ok, err := listed(ctx, b, topic, group)
		if err != nil || ok && is(g) {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the group is listed as %+v (%t), not %s: %w", g, ok, what, ctx.Err())
		}
	}
}

// later waits, so that messages have a later time: some transports store times in milliseconds.
func later(ctx context.Context) error {
	select {
	case <-time.After(5 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func live(g driver.Group) bool    { return g.Live }
func stopped(g driver.Group) bool { return !g.Live }

// untilDone is until for a group that is stopped and has done every message.
func untilDone(ctx context.Context, b *bus.Bus, topic, group string) error {
	return until(ctx, b, topic, group, "stopped and done", func(g driver.Group) bool { return !g.Live && g.Messages == 0 })
}

func groupsAreListed(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	b, topic, group, other := env.Bus, name("topic"), name("group"), name("group")
	steps.Do(handled(ctx, b, topic, group, "k", 1, 3))
	steps.Do(declare(ctx, b, topic, other))
	steps.Do(b.Publisher().Publish(topic, series("k", 4, 5)...))
	behind := 5
	if !b.Capabilities().Replay {
		behind = 2
	}
	for group, n := range map[string]int{group: 2, other: behind} {
		steps.Do(until(ctx, b, topic, group, fmt.Sprintf("stopped and %d behind", n), func(g driver.Group) bool { return !g.Live && g.Messages == n }))
	}
	if b.Capabilities().Replay {
		ahead, _ := steps.Two(listed(ctx, b, topic, group))
		start, _ := steps.Two(listed(ctx, b, topic, other))
		if slices.Equal(ahead.Positions, start.Positions) {
			return fmt.Errorf("a group that handled 3 messages and one that handled none are both at the positions %v", ahead.Positions)
		}
	}
	every := steps.Get(b.Groups(ctx))
	if !slices.ContainsFunc(every, func(g driver.Group) bool { return g.Topic == topic && g.Group == other }) {
		return fmt.Errorf("the groups of all topics are %+v, without %s", every, other)
	}
	if none, err := b.Groups(ctx, name("topic")); err != nil || len(none) > 0 {
		return fmt.Errorf("a topic that is not there has the groups %+v: %v", none, err)
	}
	sub := steps.Get(subscribe(ctx, b, group, topic))
	defer sub.closing(&err)
	steps.Do(sub.expectAll(ctx, payloads("k", 4, 5)...))
	steps.Do(until(ctx, b, topic, group, "live", live))
	return until(ctx, b, topic, other, "stopped", stopped)
}

// resetGroup leaves a gap, so that the transport has acknowledgements to delete.
func resetGroup(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	b := env.Bus
	topic, group := steps.Two(published(ctx, b, append(series("a", 1, 1), series("b", 1, 9)...)...))
	steps.Do(during(ctx, b, topic, group, func(sub *subscribing) error { return sub.takeBut(ctx, 10, "a") }))
	steps.Do(until(ctx, b, topic, group, "stopped", stopped))
	steps.Get(b.ResetGroup(ctx, topic, group, bus.Place{}, false))
	steps.Do(getsByKey(ctx, b, topic, group, map[string][]string{"a": payloads("a", 1, 1), "b": payloads("b", 1, 9)}))
	steps.Do(untilDone(ctx, b, topic, group))
	// A dry run counts, and changes nothing.
	moved := steps.Get(b.ResetGroup(ctx, topic, group, bus.Place{}, true))
	if moved != (driver.Moved{Again: 10}) {
		return fmt.Errorf("a dry run of a group that has done 10 messages says %+v", moved)
	}
	if g, _, err := listed(ctx, b, topic, group); err != nil || g.Messages != 0 {
		return fmt.Errorf("a dry run left the group %d messages behind: %v", g.Messages, err)
	}
	return nil
}

// getsByKey is getsAll for messages of several keys.
func getsByKey(ctx context.Context, b *bus.Bus, topic, group string, want map[string][]string) (err error) {
	defer steps.End(&err)
	n := 0
	for _, all := range want {
		n += len(all)
	}
	got := map[string][]string{}
	steps.Do(during(ctx, b, topic, group, func(sub *subscribing) error {
		for range n {
			m, err := sub.next(ctx)
			if err != nil {
				return fmt.Errorf("after %v: %w", got, err)
			}
			got[event.Key(m)] = append(got[event.Key(m)], string(m.Payload))
			m.Ack()
		}
		return nil
	}))
	for key, all := range want {
		steps.Do(same(b, key, got[key], all))
	}
	return nil
}

// resetToPlaces moves a group to a time, to positions, and behind the newest message.
func resetToPlaces(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	b, topic, group := env.Bus, name("topic"), name("group")
	steps.Do(handled(ctx, b, topic, group, "k", 1, 5))
	steps.Do(untilDone(ctx, b, topic, group))
	before, _ := steps.Two(listed(ctx, b, topic, group))
	steps.Do(later(ctx))
	steps.Do(b.Publisher().Publish(topic, series("k", 6, 10)...))
	behind, _ := steps.Two(listed(ctx, b, topic, group))
	for what, to := range map[string]struct {
		place bus.Place
		from  int
	}{
		"the time of the 6th message": {bus.Place{Since: behind.Oldest}, 6},
		"its position":                {bus.Place{Positions: maps.Collect(slices.All(before.Positions))}, 6},
		"the beginning":               {bus.Place{}, 1},
	} {
		if _, err := b.ResetGroup(ctx, topic, group, to.place, false); err != nil {
			return fmt.Errorf("reset to %s: %w", what, err)
		}
		steps.Named(getsAll(ctx, b, topic, group, payloads("k", to.from, 10)...), "after a reset to %s", what)
		steps.Do(untilDone(ctx, b, topic, group))
	}
	steps.Do(b.Publisher().Publish(topic, msg("k", 11)))
	if moved, err := b.ResetGroup(ctx, topic, group, bus.Place{Latest: true, OnlyBack: true}, false); err != nil || moved != (driver.Moved{}) {
		return fmt.Errorf("a reset ahead that is OnlyBack says %+v: %v", moved, err)
	}
	if g, _, err := listed(ctx, b, topic, group); err != nil || g.Messages != 1 {
		return fmt.Errorf("a reset ahead that is OnlyBack left the group %d messages behind, not 1: %v", g.Messages, err)
	}
	moved := steps.Get(b.ResetGroup(ctx, topic, group, bus.Place{Latest: true}, false))
	if moved != (driver.Moved{Skipped: 1}) {
		return fmt.Errorf("a reset behind one message that waits says %+v", moved)
	}
	steps.Do(b.Publisher().Publish(topic, msg("k", 12)))
	return getsAll(ctx, b, topic, group, "k#12")
}

// resetToPositions has keys of several partitions with unequal numbers of messages, and moves a
// group back to the position that each partition had.
func resetToPositions(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const keys, more = 8, 2
	b, topic, group := env.Bus, name("topic"), name("group")
	steps.Do(declare(ctx, b, topic, group))
	before, after := map[string][]string{}, map[string][]string{}
	for n := 1; n <= keys; n++ {
		key := fmt.Sprint("k", n)
		steps.Do(b.Publisher().Publish(topic, series(key, 1, n)...))
		before[key], after[key] = payloads(key, 1, n), payloads(key, n+1, n+more)
	}
	gets := func(want map[string][]string) error {
		if err := getsByKey(ctx, b, topic, group, want); err != nil {
			return err
		}
		return untilDone(ctx, b, topic, group)
	}
	steps.Do(gets(before))
	at, _ := steps.Two(listed(ctx, b, topic, group))
	for n := 1; n <= keys; n++ {
		steps.Do(b.Publisher().Publish(topic, series(fmt.Sprint("k", n), n+1, n+more)...))
	}
	steps.Do(gets(after))
	moved := steps.Get(b.ResetGroup(ctx, topic, group, bus.Place{Positions: maps.Collect(slices.All(at.Positions))}, false))
	if moved.Skipped != 0 {
		return fmt.Errorf("a reset back to the positions %v says %+v", at.Positions, moved)
	}
	steps.Named(gets(after), "after a reset back to the positions %v", at.Positions)
	return nil
}

func deletedGroup(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	b, topic, group, other := env.Bus, name("topic"), name("group"), name("group")
	for _, g := range []string{group, other} {
		steps.Do(declare(ctx, b, topic, g))
	}
	for n := 1; n <= 3; n++ { // the other group starts, moves and stops more often
		steps.Do(handled(ctx, b, topic, other, "k", n, n))
	}
	steps.Do(getsAll(ctx, b, topic, group, payloads("k", 1, 3)...))
	steps.Do(b.Publisher().Publish(topic, series("k", 4, 5)...))
	steps.Do(until(ctx, b, topic, group, "stopped", stopped))
	steps.Do(b.DeleteGroup(ctx, topic, group))
	if _, ok, err := listed(ctx, b, topic, group); err != nil || ok {
		return fmt.Errorf("a deleted group is listed (%t): %v", ok, err)
	}
	if b.Capabilities().Replay {
		steps.Named(getsAll(ctx, b, topic, group, payloads("k", 1, 5)...), "made anew")
	}
	steps.Named(getsAll(ctx, b, topic, other, payloads("k", 4, 5)...), "another group of the topic")
	return nil
}

func liveGroup(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	b, topic, group := env.Bus, name("topic"), name("group")
	steps.Do(handled(ctx, b, topic, group, "k", 1, 3))
	sub := steps.Get(subscribe(ctx, b, group, topic))
	defer sub.closing(&err)
	steps.Do(b.Publisher().Publish(topic, msg("k", 4)))
	m := steps.Get(sub.next(ctx))
	if is[driver.GroupResetter](b) {
		if _, err := b.ResetGroup(ctx, topic, group, bus.Place{}, false); !errors.Is(err, bus.ErrGroupLive) {
			return fmt.Errorf("a reset of a group with a member says: %w", orNothing(err))
		}
	}
	if err := b.DeleteGroup(ctx, topic, group); !errors.Is(err, bus.ErrGroupLive) {
		return fmt.Errorf("a deletion of a group with a member says: %w", orNothing(err))
	}
	m.Ack()
	steps.Do(b.Publisher().Publish(topic, msg("k", 5)))
	return sub.expectAll(ctx, "k#5")
}

func absentGroup(ctx context.Context, env Env) error {
	b, topic, group := env.Bus, name("topic"), name("group")
	if err := handled(ctx, b, topic, name("group"), "k", 1, 1); err != nil {
		return err
	}
	for _, t := range []string{topic, name("topic")} {
		if is[driver.GroupResetter](b) {
			if _, err := b.ResetGroup(ctx, t, group, bus.Place{}, false); !errors.Is(err, bus.ErrNoGroup) {
				return fmt.Errorf("a reset of a group that is not there says: %w", orNothing(err))
			}
		}
		if err := b.DeleteGroup(ctx, t, group); !errors.Is(err, bus.ErrNoGroup) {
			return fmt.Errorf("a deletion of a group that is not there says: %w", orNothing(err))
		}
		if _, ok, err := listed(ctx, b, t, group); err != nil || ok {
			return fmt.Errorf("the group is listed (%t): %v", ok, err)
		}
	}
	return nil
}

func readConsumesNothing(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	b, topic, group := env.Bus, name("topic"), name("group")
	steps.Do(handled(ctx, b, topic, group, "k", 1, 3))
	reads := func(what string, place bus.Place, from int) {
		var read []string
		steps.Do(b.Read(ctx, topic, place, func(m *message.Message) error {
			read = append(read, string(m.Payload))
			return nil
		}))
		steps.Named(same(b, "k", read, payloads("k", from, 5)), "reading from %s", what)
	}
	admin := is[driver.GroupAdmin](b)
	var done, behind driver.Group
	if admin {
		steps.Do(untilDone(ctx, b, topic, group))
		done, _ = steps.Two(listed(ctx, b, topic, group))
		steps.Do(later(ctx))
	}
	steps.Do(b.Publisher().Publish(topic, series("k", 4, 5)...))
	reads("the beginning", bus.Place{}, 1)
	if admin {
		behind, _ = steps.Two(listed(ctx, b, topic, group))
		reads("the time of the 4th message", bus.Place{Since: behind.Oldest}, 4)
		reads("its position", bus.Place{Positions: maps.Collect(slices.All(done.Positions))}, 4)
	}
	steps.Do(b.Read(ctx, topic, bus.Place{Latest: true}, func(m *message.Message) error {
		return fmt.Errorf("reading from behind the newest message gives %s", m.Payload)
	}))
	enough := errors.New("enough")
	if err := b.Read(ctx, topic, bus.Place{}, func(*message.Message) error { return enough }); !errors.Is(err, enough) {
		return fmt.Errorf("reading ends with its function's error, and says: %w", orNothing(err))
	}
	return getsAll(ctx, b, topic, group, payloads("k", 4, 5)...)
}

// orNothing returns an error for the message about a missing one.
func orNothing(err error) error {
	if err == nil {
		return errors.New("(no error)")
	}
	return err
}
