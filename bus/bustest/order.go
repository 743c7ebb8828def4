package bustest

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/steps"
)

func orderCases() []Case {
	return []Case{
		{"OrderPerKeyWithKeysInParallel", orderPerKey},
		{"OrderAcrossNackAndRetry", orderAcrossNack},
		{"OneUnacknowledgedPerKey", oneUnacked},
		{"KeylessIsOneKey", keylessIsOneKey},
	}
}

// orderPerKey holds the first message of every key until all keys are out at the same time, then
// takes the rest.
func orderPerKey(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const keys, each = 6, 25
	topic, group := steps.Two(published(ctx, env.Bus, inTurn(keys, 1, each)...))
	sub := steps.Get(subscribe(ctx, env.Bus, group, topic))
	defer sub.closing(&err)

	seen := map[string][]string{}
	var held []*message.Message
	for total := 0; total < keys*each; total++ {
		m, err := sub.next(ctx)
		steps.Named(err, "after %d of %d", total, keys*each)
		key := event.Key(m)
		seen[key] = append(seen[key], string(m.Payload))
		if len(held) < keys {
			held = append(held, m)
			if len(held) < keys {
				continue
			}
			if len(seen) != keys {
				return fmt.Errorf("%d messages are out at once, of %d keys only: %v", keys, len(seen), seen)
			}
			for _, h := range held {
				h.Ack()
			}
			continue
		}
		m.Ack()
	}
	return eachKey(keys, each, func(key string, want []string) error { return sameOrder(key, seen[key], want) })
}

// orderAcrossNack nacks every third message twice; no later message of its key may be delivered
// before it is acknowledged.
func orderAcrossNack(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const keys, each = 3, 12
	topic, group := name("topic"), name("group")
	sub := steps.Get(subscribe(ctx, env.Bus, group, topic))
	defer sub.closing(&err)
	steps.Do(publishInTurn(env.Bus, topic, keys, 1, each))
	acked, nacks := map[string][]string{}, map[string]int{}
	for total := 0; total < keys*each; {
		m, err := sub.next(ctx)
		steps.Named(err, "after %d of %d", total, keys*each)
		key, payload := event.Key(m), string(m.Payload)
		if want := key + "#" + strconv.Itoa(len(acked[key])+1); payload != want {
			return fmt.Errorf("got %s while %s is not acknowledged", payload, want)
		}
		if (len(acked[key])+1)%3 == 0 && nacks[payload] < 2 {
			nacks[payload]++
			m.Nack()
			continue
		}
		acked[key] = append(acked[key], payload)
		total++
		m.Ack()
	}
	return nil
}

// oneUnacked never acknowledges the first message of a key. Any number of other keys must be
// delivered, and the key's second message must not.
func oneUnacked(ctx context.Context, env Env) (err error) {
	return blockedKey(ctx, env, "busy")
}

func keylessIsOneKey(ctx context.Context, env Env) (err error) {
	return blockedKey(ctx, env, "")
}

func blockedKey(ctx context.Context, env Env, key string) (err error) {
	defer steps.End(&err)
	const others = 10
	topic, group := name("topic"), name("group")
	sub := steps.Get(subscribe(ctx, env.Bus, group, topic))
	defer sub.closing(&err)
	pub := env.Bus.Publisher()
	pair, together := series(key, 1, 2), 2
	if !ordered(env.Bus) {
		together = 1
	}
	steps.Do(pub.Publish(topic, pair[:together]...))
	first := steps.Get(sub.expect(ctx, key+"#1"))
	if together == 1 {
		steps.Do(pub.Publish(topic, pair[1]))
	}
	// Each of these is published when the second message has been there for a while, so it would
	// have been delivered before them.
	for k := range others {
		other := "other-" + strconv.Itoa(k)
		steps.Do(pub.Publish(topic, msg(other, 1)))
		m, err := sub.expect(ctx, other+"#1")
		steps.Named(err, "while %s#1 is not acknowledged", key)
		m.Ack()
	}
	first.Ack()
	return sub.expectAll(ctx, key+"#2")
}
