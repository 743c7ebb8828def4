package bustest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/steps"
)

// instancesShare has two buses that consume with one group; one of them stops in the middle and
// the other finishes. Order per key must hold over both.
func instancesShare(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const keys, each = 4, 20
	topic, group := name("topic"), name("group")
	steps.Do(declare(ctx, env.Bus, topic, group))
	other := steps.Get(env.Again())
	defer func() { err = errors.Join(err, other.Close()) }()

	steps.Do(publishInTurn(env.Bus, topic, keys, 1, each/2))
	first := steps.Get(subscribe(ctx, other, group, topic))
	defer first.closing(&err)
	seen, taken := map[string][]string{}, 0
	take := func(m *message.Message) {
		seen[event.Key(m)] = append(seen[event.Key(m)], string(m.Payload))
		taken++
		m.Ack()
	}
	const before = keys * each / 8 // acknowledged before the second instance starts
	for taken < before {
		m := steps.Get(first.next(ctx))
		take(m)
	}
	second := steps.Get(subscribe(ctx, env.Bus, group, topic))
	defer second.closing(&err)
	for taken < 2*before {
		select {
		case m, ok := <-first.ch:
			if !ok {
				return errors.New("the channel of the first instance was closed")
			}
			take(m)
		case m, ok := <-second.ch:
			if !ok {
				return errors.New("the channel of the second instance was closed")
			}
			take(m)
		case <-ctx.Done():
			return fmt.Errorf("after %d: %w", taken, ctx.Err())
		}
	}
	// It may have one more message, delivered and not read.
	steps.Do(first.Close())
	steps.Do(publishInTurn(env.Bus, topic, keys, each/2+1, each))
	done := func() bool {
		for k := range keys {
			if got, last := seen[keyed(k)], payloads(keyed(k), each, each); len(got) == 0 || got[len(got)-1] != last[0] {
				return false
			}
		}
		return true
	}
	for !done() {
		m, err := second.next(ctx)
		if err != nil {
			return fmt.Errorf("the second instance does not take over: %w (%v)", err, seen)
		}
		take(m)
	}
	return eachKey(keys, each, func(key string, want []string) error { return sameOrder(key, withoutRepeats(seen[key]), want) })
}

// takesOver has one key, so that the acknowledged messages are a prefix: the second instance
// stands by, and resumes exactly there when the first has stopped.
func takesOver(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := steps.Two(published(ctx, env.Bus, series("k", 1, 20)...))
	other := steps.Get(env.Again())
	defer func() { err = errors.Join(err, other.Close()) }()
	first := steps.Get(subscribe(ctx, other, group, topic))
	defer first.closing(&err)
	all := steps.Get(first.take(ctx, 10))
	second := steps.Get(subscribe(ctx, env.Bus, group, topic))
	defer second.closing(&err)
	steps.Do(first.Close())
	rest, err := second.take(ctx, 10)
	steps.Named(err, "after %v and %v", all, rest)
	return same(env.Bus, "k", append(all, rest...), payloads("k", 1, 20))
}

// withoutRepeats removes messages that were redelivered after a takeover, since delivery is at
// least once. The rest shows the order of first deliveries.
func withoutRepeats(all []string) []string {
	seen := map[string]bool{}
	var first []string
	for _, p := range all {
		if !seen[p] {
			seen[p] = true
			first = append(first, p)
		}
	}
	return first
}

func survivesReopening(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := steps.Two(published(ctx, env.Bus, series("k", 1, 10)...))
	all, err := getsSome(ctx, env.Bus, topic, group, 4)
	if err = errors.Join(err, env.Bus.Close()); err != nil {
		return err
	}
	again, err := env.Again()
	steps.Named(err, "open again")
	rest, err := getsSome(ctx, again, topic, group, 6)
	return errors.Join(err, again.Close(), same(again, "k", append(all, rest...), payloads("k", 1, 10)))
}
