package bustest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// instancesShare has two buses that consume with one group; one of them stops in the middle and
// the other finishes. Order per key must hold over both.
func instancesShare(ctx context.Context, env Env) (err error) {
	const keys, each = 4, 20
	topic, group := name("topic"), name("group")
	if err := declare(ctx, env.Bus, topic, group); err != nil {
		return err
	}
	other, err := env.Again()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()

	pub := env.Bus.Publisher()
	publish := func(from, to int) error {
		for n := from; n <= to; n++ {
			for k := range keys {
				if err := pub.Publish(topic, msg("key-"+strconv.Itoa(k), n)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := publish(1, each/2); err != nil {
		return err
	}
	first, err := subscribe(ctx, other, group, topic)
	if err != nil {
		return err
	}
	seen, taken := map[string][]string{}, 0
	take := func(m *message.Message) {
		seen[event.Key(m)] = append(seen[event.Key(m)], string(m.Payload))
		taken++
		m.Ack()
	}
	const before = keys * each / 8 // acknowledged before the second instance starts
	for taken < before {
		m, err := first.next(ctx)
		if err != nil {
			return errors.Join(err, first.Close())
		}
		take(m)
	}
	second, err := subscribe(ctx, env.Bus, group, topic)
	if err != nil {
		return errors.Join(err, first.Close())
	}
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
				return errors.Join(errors.New("the channel of the second instance was closed"), first.Close())
			}
			take(m)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("after %d: %w", taken, ctx.Err()), first.Close())
		}
	}
	// It may have one more message, delivered and not read.
	if err := first.Close(); err != nil {
		return err
	}
	if err := publish(each/2+1, each); err != nil {
		return err
	}
	done := func() bool {
		for k := range keys {
			if got := seen["key-"+strconv.Itoa(k)]; len(got) == 0 || got[len(got)-1] != "key-"+strconv.Itoa(k)+"#"+strconv.Itoa(each) {
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
	for k := range keys {
		key := "key-" + strconv.Itoa(k)
		if err := sameOrder(key, withoutRepeats(seen[key]), payloads(key, 1, each)); err != nil {
			return err
		}
	}
	return nil
}

// takesOver has one key, so that the acknowledged messages are a prefix: the second instance
// stands by, and resumes exactly there when the first has stopped.
func takesOver(ctx context.Context, env Env) (err error) {
	topic, group := name("topic"), name("group")
	if err := declare(ctx, env.Bus, topic, group); err != nil {
		return err
	}
	other, err := env.Again()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	if err := env.Bus.Publisher().Publish(topic, series("k", 1, 20)...); err != nil {
		return err
	}
	first, err := subscribe(ctx, other, group, topic)
	if err != nil {
		return err
	}
	all, err := first.take(ctx, 10)
	if err != nil {
		return errors.Join(err, first.Close())
	}
	second, err := subscribe(ctx, env.Bus, group, topic)
	if err != nil {
		return errors.Join(err, first.Close())
	}
	defer second.closing(&err)
	if err := first.Close(); err != nil {
		return err
	}
	rest, err := second.take(ctx, 10)
	if err != nil {
		return fmt.Errorf("after %v and %v: %w", all, rest, err)
	}
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

func survivesReopening(ctx context.Context, env Env) error {
	topic, group := name("topic"), name("group")
	if err := declare(ctx, env.Bus, topic, group); err != nil {
		return err
	}
	if err := env.Bus.Publisher().Publish(topic, series("k", 1, 10)...); err != nil {
		return err
	}
	sub, err := subscribe(ctx, env.Bus, group, topic)
	if err != nil {
		return err
	}
	all, err := sub.take(ctx, 4)
	sub.closing(&err)
	if err = errors.Join(err, env.Bus.Close()); err != nil {
		return err
	}
	again, err := env.Again()
	if err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	if sub, err = subscribe(ctx, again, group, topic); err != nil {
		return errors.Join(err, again.Close())
	}
	rest, err := sub.take(ctx, 6)
	sub.closing(&err)
	return errors.Join(err, again.Close(), same(again, "k", append(all, rest...), payloads("k", 1, 10)))
}
