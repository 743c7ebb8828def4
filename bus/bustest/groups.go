package bustest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/steps"
)

func groupCases() []Case {
	return []Case{
		{"GroupsEachGetAll", groupsEachGetAll},
		{"GroupResumesWhereItStopped", groupResumes},
		{"NewGroupStartsAtEarliest", newGroupStartsAtEarliest},
		{"OutOfOrderAcksNeverSkip", outOfOrderAcks},
		{"AnOrderlyStopRepeatsNothing", orderlyStop},
		{"UnacknowledgedIsRedeliveredAfterClose", redeliveryAfterClose},
		{"UnacknowledgedIsRedeliveredAfterContextEnd", redeliveryAfterContext},
		{"AnOpenedSourceOutlivesItsContext", openedSource},
		{"DeclaredGroupGetsEverything", declaredGroup},
		{"InstancesShareAGroup", instancesShare},
		{"AnInstanceTakesOverWhereTheOtherStopped", takesOver},
		{"GroupSurvivesReopening", survivesReopening},
	}
}

func groupsEachGetAll(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic := name("topic")
	var subs []*subscribing
	for range 3 {
		sub := steps.Get(subscribe(ctx, env.Bus, name("group"), topic))
		defer sub.closing(&err)
		subs = append(subs, sub)
	}
	steps.Do(env.Bus.Publisher().Publish(topic, series("k", 1, 20)...))
	for i, sub := range subs {
		steps.Named(sub.expectAll(ctx, payloads("k", 1, 20)...), "group %d", i)
	}
	return nil
}

// openedSource ends the context with which a source was opened: that context is for the opening
// alone. It fetches one message at a time.
func openedSource(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := steps.Two(published(ctx, env.Bus, msg("k", 1)))
	opening, end := context.WithCancel(ctx)
	defer end()
	source := steps.Get(env.Bus.Driver().Source(opening, topic, group, 16))
	defer func() { err = errors.Join(err, source.Close()) }()
	end()
	for n := 1; n <= 2; n++ {
		got, err := source.Fetch(ctx, 1)
		steps.Named(err, "message %d after the end of the opening's context", n)
		if len(got) != 1 {
			return fmt.Errorf("got %d messages, and asked for one", len(got))
		}
		d := got[0]
		if want := fmt.Sprint("k#", n); ordered(env.Bus) && string(d.Message().Payload) != want || d.Context().Err() != nil {
			return fmt.Errorf("got %q, with a context that says %v; want %q and no end", d.Message().Payload, d.Context().Err(), want)
		}
		d.Done()
		if n == 1 {
			steps.Do(env.Bus.Publisher().Publish(topic, series("k", 2, 3)...))
		}
	}
	return nil
}

// groupResumes acknowledges a part, closes at once, and continues with a new subscriber: an
// acknowledgement sent just before Close counts.
func groupResumes(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := steps.Two(published(ctx, env.Bus, series("k", 1, 30)...))
	var all []string
	for len(all) < 30 {
		got, err := getsSome(ctx, env.Bus, topic, group, 10)
		all = append(all, got...)
		steps.Named(err, "resuming after %v", all)
	}
	return same(env.Bus, "k", all, payloads("k", 1, 30))
}

func newGroupStartsAtEarliest(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic := name("topic")
	steps.Do(env.Bus.Publisher().Publish(topic, series("k", 1, 10)...))
	for i := range 2 {
		steps.Named(getsAll(ctx, env.Bus, topic, name("group"), payloads("k", 1, 10)...), "group %d", i+1)
	}
	return nil
}

// orderlyStop stops with one unacknowledged message before acknowledged ones, as far as the
// transport hands these out.
func orderlyStop(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := name("topic"), name("group")
	steps.Do(declare(ctx, env.Bus, topic, group))
	pub := env.Bus.Publisher()
	others, unacked := append(series("b", 1, 5), series("c", 1, 5)...), []*message.Message{msg("a", 1)}
	calls := [][]*message.Message{unacked, others}
	if c := env.Bus.Capabilities(); c.SerialGroups || c.OneAtATime {
		slices.Reverse(calls)
	}
	for _, messages := range calls {
		steps.Do(pub.Publish(topic, messages...))
	}
	steps.Do(during(ctx, env.Bus, topic, group, func(sub *subscribing) error {
		return sub.takeBut(ctx, len(unacked)+len(others), "a")
	}))

	sub := steps.Get(subscribe(ctx, env.Bus, group, topic))
	defer sub.closing(&err)
	steps.Do(pub.Publish(topic, msg("a", 2), msg("b", 6), msg("c", 6)))
	left := map[string][]string{"a": {"a#1", "a#2"}, "b": {"b#6"}, "c": {"c#6"}}
	for range 4 {
		m, err := sub.next(ctx)
		steps.Named(err, "%v have not come", left)
		key := event.Key(m)
		i := slices.Index(left[key], string(m.Payload))
		if i < 0 || i > 0 && sub.ordered {
			return fmt.Errorf("%s came after an orderly stop; of its key %v are left", m.Payload, left[key])
		}
		left[key] = slices.Delete(left[key], i, i+1)
		m.Ack()
	}
	return nil
}

// outOfOrderAcks acknowledges the later messages and not the first: only the prefix may be
// stored.
func outOfOrderAcks(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := steps.Two(published(ctx, env.Bus, msg("a", 1), msg("b", 1), msg("c", 1), msg("b", 2)))
	steps.Do(during(ctx, env.Bus, topic, group, func(sub *subscribing) error { return sub.takeBut(ctx, 4, "a") }))
	return during(ctx, env.Bus, topic, group, func(sub *subscribing) error {
		for {
			m, err := sub.next(ctx)
			if err != nil {
				return fmt.Errorf("a#1 was not acknowledged and is not delivered again: %w", err)
			}
			m.Ack()
			if event.Key(m) == "a" {
				return nil
			}
		}
	})
}

func redeliveryAfterClose(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := steps.Two(published(ctx, env.Bus, series("k", 1, 3)...))
	for attempt := range 3 {
		steps.Named(during(ctx, env.Bus, topic, group, func(sub *subscribing) error {
			m, err := sub.next(ctx)
			if err == nil && sub.ordered && string(m.Payload) != "k#1" {
				err = fmt.Errorf("got %s, want k#1", m.Payload)
			}
			return err
		}), "attempt %d", attempt+1)
	}
	return getsAll(ctx, env.Bus, topic, group, payloads("k", 1, 3)...)
}

// redeliveryAfterContext ends a subscription by its context: its channel closes, messages that
// are out can still be acknowledged, and the next subscription gets the others.
func redeliveryAfterContext(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := steps.Two(published(ctx, env.Bus, series("k", 1, 3)...))
	sub := steps.Get(env.Bus.Subscriber(group, bus.SubscriberConfig{}))
	defer func() { err = errors.Join(err, sub.Close()) }()
	sctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ch := steps.Get(sub.Subscribe(sctx, topic))
	first := steps.Get((&subscribing{Subscriber: sub, ch: ch}).next(ctx))
	if ordered(env.Bus) && string(first.Payload) != "k#1" {
		return fmt.Errorf("got %s, want k#1", first.Payload)
	}
	cancel()
	select {
	case m, ok := <-ch:
		if ok {
			return fmt.Errorf("got %s after the context ended", m.Payload)
		}
	case <-ctx.Done():
		return fmt.Errorf("the channel was not closed when the context ended: %w", ctx.Err())
	}
	first.Ack()
	// The same subscriber joins the group again.
	if ch, err = sub.Subscribe(context.WithoutCancel(ctx), topic); err != nil {
		return err
	}
	rest := slices.DeleteFunc(payloads("k", 1, 3), func(p string) bool { return p == string(first.Payload) })
	return (&subscribing{sub, ch, ordered(env.Bus)}).expectAll(ctx, rest...)
}

// declaredGroup publishes before the group has ever subscribed.
func declaredGroup(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := name("topic"), name("group")
	for range 2 { // declaring is idempotent
		steps.Do(declare(ctx, env.Bus, topic, group, name("other")))
	}
	steps.Do(env.Bus.Publisher().Publish(topic, series("k", 1, 10)...))
	steps.Named(declare(ctx, env.Bus, topic, group), "declare again after publishing")
	return getsAll(ctx, env.Bus, topic, group, payloads("k", 1, 10)...)
}
