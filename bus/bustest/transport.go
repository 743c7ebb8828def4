package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/steps"
)

func transportCases() []Case {
	return []Case{
		{"BytesAndMetadataRoundTrip", roundTrip},
		{"PublishAfterClose", publishAfterClose},
		{"CloseIsIdempotent", closeIsIdempotent},
		{"EndedContextPublishesNothing", endedContext},
		{"PublisherCloseClosesNothing", publisherClose},
		{"UnknownParameter", unknownParameter},
		{"LagCountsDown", lagCountsDown},
		{"LagKnowsTheOldest", lagKnowsTheOldest},
		{"BrowseConsumesNothing", browse},
		{"TopicsAreFound", topicsAreFound},
	}
}

func roundTrip(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	megabyte := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	cases := []*message.Message{
		message.NewMessage(uuid.NewString(), all),
		message.NewMessage(uuid.NewString(), []byte("좌석 A-1 🎟 été")),
		message.NewMessage(uuid.NewString(), nil),
		message.NewMessage(uuid.NewString(), megabyte),
		message.NewMessage(uuid.NewString(), []byte(`{"a":"it's \"quoted\""}`)),
		message.NewMessage("not a uuid", []byte("x")),
	}
	for _, m := range cases {
		m.Metadata.Set(event.KeyHeader, "키/1")
		m.Metadata.Set("ce_type", "SeatHeld")
		m.Metadata.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		m.Metadata.Set("unicode", "한국어 🎫 \u00e9\u0301")
		m.Metadata.Set("empty", "")
		m.Metadata.Set("odd", "a=b;c\"d'e\\f\n\tg")
		m.Metadata.Set("long", strings.Repeat("v", 8<<10))
	}
	topic := name("topic")
	sub := steps.Get(subscribe(ctx, env.Bus, name("group"), topic))
	defer sub.closing(&err)
	steps.Do(env.Bus.Publisher().Publish(topic, cases...))
	for i := range cases {
		got, err := sub.next(ctx)
		steps.Named(err, "message %d", i)
		got.Ack()
		want := cases[i]
		if j := slices.IndexFunc(cases, func(m *message.Message) bool { return m.UUID == got.UUID }); j >= 0 && !sub.ordered {
			want = cases[j]
		}
		if got.UUID != want.UUID {
			return fmt.Errorf("message %d: UUID is %q, want %q", i, got.UUID, want.UUID)
		}
		if !bytes.Equal(got.Payload, want.Payload) {
			return fmt.Errorf("message %d: the payload of %d bytes came back as %d other bytes", i, len(want.Payload), len(got.Payload))
		}
		for k, v := range want.Metadata {
			if have, ok := got.Metadata[k]; !ok || have != v {
				return fmt.Errorf("message %d: metadata %q is %q (there: %t), want %q", i, k, have, ok, v)
			}
		}
		if len(got.Metadata) != len(want.Metadata) {
			return fmt.Errorf("message %d: metadata came back as %v", i, got.Metadata)
		}
	}
	return nil
}

func publishAfterClose(_ context.Context, env Env) error {
	pub := env.Bus.Publisher()
	if err := env.Bus.Close(); err != nil {
		return err
	}
	if err := pub.Publish(name("topic"), msg("k", 1)); !errors.Is(err, bus.ErrClosed) {
		return fmt.Errorf("publishing on a closed bus: got %v, want bus.ErrClosed", err)
	}
	// The driver itself must refuse too: others may hold its publisher.
	if err := env.Bus.Driver().Publisher().Publish(name("topic"), msg("k", 1)); err == nil {
		return errors.New("publishing on a closed driver: got no error")
	}
	if _, err := env.Bus.Subscriber(name("group"), bus.SubscriberConfig{}); !errors.Is(err, bus.ErrClosed) {
		return fmt.Errorf("a subscriber of a closed bus: got %v, want bus.ErrClosed", err)
	}
	return nil
}

func endedContext(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic := name("topic")
	sub := steps.Get(subscribe(ctx, env.Bus, name("group"), topic))
	defer sub.closing(&err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	pub := env.Bus.Publisher()
	for i, messages := range [][]*message.Message{series("k", 1, 1), series("k", 2, 3)} {
		messages[len(messages)-1].SetContext(ended)
		if err := pub.Publish(topic, messages...); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("call %d, with a message whose context has ended: got %v, want context.Canceled", i+1, err)
		} else if err := became(err, len(messages), driver.NotSent); err != nil {
			return fmt.Errorf("call %d, with a message whose context has ended: %w", i+1, err)
		}
	}
	steps.Do(pub.Publish(topic, msg("k", 4)))
	m := steps.Get(sub.expect(ctx, "k#4"))
	m.Ack()
	return nil
}

// became checks the outcomes in an error of Publish, for all messages of the call.
func became(err error, n int, outcomes ...driver.Outcome) error {
	var failed *bus.PublishError
	if !errors.As(err, &failed) || len(failed.Outcomes) != n {
		return fmt.Errorf("got %w, want a bus.PublishError about %d messages", err, n)
	}
	for i, o := range failed.Outcomes {
		if !slices.Contains(outcomes, o) {
			return fmt.Errorf("message %d is %s, want %v: %w", i+1, o, outcomes, err)
		}
	}
	return nil
}

func closeIsIdempotent(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic := name("topic")
	sub := steps.Get(subscribe(ctx, env.Bus, name("group"), topic))
	for range 3 {
		steps.Named(sub.Close(), "close the subscriber")
	}
	if _, ok := <-sub.ch; ok {
		return errors.New("the channel is open after Close")
	}
	if _, err := sub.Subscribe(ctx, topic); !errors.Is(err, bus.ErrClosed) {
		return fmt.Errorf("subscribe after Close: got %v, want bus.ErrClosed", err)
	}
	// Closing the bus closes an open subscriber too.
	if sub, err = subscribe(ctx, env.Bus, name("group"), topic); err != nil {
		return err
	}
	for range 3 {
		steps.Named(env.Bus.Close(), "close the bus")
	}
	select {
	case _, ok := <-sub.ch:
		if ok {
			return errors.New("a message came after the bus was closed")
		}
	case <-ctx.Done():
		return errors.New("the channel of a subscriber is open after the bus was closed")
	}
	return nil
}

func publisherClose(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := name("topic"), name("group")
	steps.Do(declare(ctx, env.Bus, topic, group))
	steps.Do(env.Bus.Publisher().Close())
	steps.Named(env.Bus.Publisher().Publish(topic, msg("k", 1)), "after a user closed the shared publisher")
	return getsAll(ctx, env.Bus, topic, group, "k#1")
}

func unknownParameter(ctx context.Context, env Env) error {
	const unknown = "no_such_parameter"
	b, err := env.OpenURL(ctx, unknown+"=s3cret-value")
	if err == nil {
		return errors.Join(fmt.Errorf("the URL with ?%s= was opened", unknown), b.Close())
	}
	if !strings.Contains(err.Error(), unknown) {
		return fmt.Errorf("the error does not name %s: %w", unknown, err)
	}
	if strings.Contains(err.Error(), "s3cret-value") {
		return fmt.Errorf("the error repeats the value of an unknown parameter, which may be a secret: %w", err)
	}
	return nil
}

func lagOf(ctx context.Context, b *bus.Bus, topic, group string) (bus.Lag, error) {
	all, err := b.Lag(ctx)
	if err != nil {
		return bus.Lag{}, err
	}
	for _, l := range all {
		if l.Topic == topic && l.Group == group {
			return l, nil
		}
	}
	return bus.Lag{}, fmt.Errorf("no lag is reported for group %s of %s", group, topic)
}

func lagCountsDown(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := steps.Two(published(ctx, env.Bus, series("k", 1, 5)...))
	l := steps.Get(lagOf(ctx, env.Bus, topic, group))
	if l.Messages != 5 {
		return fmt.Errorf("lag is %d messages, want 5", l.Messages)
	}
	steps.Do(getsAll(ctx, env.Bus, topic, group, payloads("k", 1, 5)...))
	if l, err = lagOf(ctx, env.Bus, topic, group); err != nil {
		return err
	}
	if l.Messages != 0 || !l.Oldest.IsZero() {
		return fmt.Errorf("lag is %d messages, the oldest from %s, after all were acknowledged", l.Messages, l.Oldest)
	}
	return nil
}

func lagKnowsTheOldest(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	now := time.Now()
	topic, group := steps.Two(published(ctx, env.Bus, series("k", 1, 2)...))
	l := steps.Get(lagOf(ctx, env.Bus, topic, group))
	if off := l.Oldest.Sub(now).Abs(); off > time.Minute { // the store's clock may differ
		return fmt.Errorf("the oldest is from %s, want from now", l.Oldest)
	}
	steps.Do(later(ctx))
	steps.Do(env.Bus.Publisher().Publish(topic, series("k", 3, 5)...))
	if again := steps.Get(lagOf(ctx, env.Bus, topic, group)); !again.Oldest.Equal(l.Oldest) {
		return fmt.Errorf("the oldest is from %s, and was from %s before newer ones came", again.Oldest, l.Oldest)
	}
	return nil
}

func browse(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := name("topic"), driver.RedriveGroup
	if got, err := env.Bus.Browse(ctx, topic, 10); err != nil || len(got) != 0 {
		return fmt.Errorf("an unknown topic: got %d messages, %v", len(got), err)
	}
	// The group of dead letters, since Browse is for dead letters.
	steps.Do(declare(ctx, env.Bus, topic, group))
	steps.Do(env.Bus.Publisher().Publish(topic, series("k", 1, 5)...))
	for range 2 {
		got := steps.Get(env.Bus.Browse(ctx, topic, 3))
		var have []string
		for _, m := range got {
			have = append(have, string(m.Payload))
		}
		steps.Named(sameOrder("k", have, payloads("k", 3, 5)), "the newest three")
	}
	return getsAll(ctx, env.Bus, topic, group, payloads("k", 1, 5)...)
}

func topicsAreFound(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, absent := name("topic"), name("topic")
	steps.Do(declare(ctx, env.Bus, topic, driver.RedriveGroup))
	// Another bus, like an operator's tool; and twice, because Topics must not create the
	// topic.
	again := steps.Get(env.Again())
	ask := func() error {
		for name, want := range map[string]bool{topic: true, absent: false} {
			found, err := again.Topics(ctx, name)
			if err != nil || (len(found) == 1) != want {
				return fmt.Errorf("Topics(%s) is %v, %v; want it there: %t", name, found, err, want)
			}
		}
		all, err := again.Topics(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil || !slices.Contains(all, topic) || slices.Contains(all, absent) || !slices.IsSorted(all) {
			return fmt.Errorf("Topics() is %q, %v; want it sorted, with %s and without %s", all, err, topic, absent)
		}
		return nil
	}
	return errors.Join(ask(), ask(), again.Close())
}
