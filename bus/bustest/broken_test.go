package bustest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/membus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broken is membus with one fault. A field that is nil is no fault.
type broken struct {
	bus.Driver
	deliver func(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{})
	publish func(next message.Publisher, topic string, messages []*message.Message) error
	group   func(string) string
	declare func(context.Context, ...bus.Topic) error
	lag     func([]bus.Lag) []bus.Lag
	browse  func([]*message.Message) []*message.Message
	closed  func() error
}

func (b broken) Publisher() message.Publisher { return brokenPublisher{b.Driver.Publisher(), b} }

func (b broken) Subscriber(group string, window int) (message.Subscriber, error) {
	if b.group != nil {
		group = b.group(group)
	}
	sub, err := b.Driver.Subscriber(group, window)
	if err != nil || b.deliver == nil {
		return sub, err
	}
	return &brokenSubscriber{Subscriber: sub, deliver: b.deliver, stop: make(chan struct{})}, nil
}

func (b broken) Declare(ctx context.Context, topics ...bus.Topic) error {
	if b.declare != nil {
		return b.declare(ctx, topics...)
	}
	return b.Driver.Declare(ctx, topics...)
}

func (b broken) Close() error {
	if b.closed != nil {
		return b.closed()
	}
	return b.Driver.Close()
}

func (b broken) Lag(ctx context.Context) ([]bus.Lag, error) {
	all, err := b.Driver.(bus.Lagger).Lag(ctx)
	if b.lag != nil {
		all = b.lag(all)
	}
	return all, err
}

func (b broken) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	all, err := b.Driver.(bus.Inspector).Browse(ctx, topic, limit)
	if b.browse != nil {
		all = b.browse(all)
	}
	return all, err
}

type brokenPublisher struct {
	message.Publisher
	broken broken
}

func (p brokenPublisher) Publish(topic string, messages ...*message.Message) error {
	if p.broken.publish != nil {
		return p.broken.publish(p.Publisher, topic, messages)
	}
	return p.Publisher.Publish(topic, messages...)
}

type brokenSubscriber struct {
	message.Subscriber
	deliver func(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{})
	stop    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func (s *brokenSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	s.wg.Go(func() {
		defer close(out)
		s.deliver(in, out, s.stop)
	})
	return out, nil
}

func (s *brokenSubscriber) Close() error {
	s.once.Do(func() {
		// In the tests' own time: every answer sent so far is seen before the end.
		time.Sleep(time.Second)
		close(s.stop)
	})
	err := s.Subscriber.Close()
	s.wg.Wait()
	return err
}

func send(out chan<- *message.Message, stop <-chan struct{}, m *message.Message) {
	select {
	case out <- m:
	case <-stop:
	}
}

func copied(m *message.Message) *message.Message {
	c := m.Copy()
	c.SetContext(context.WithoutCancel(m.Context()))
	return c
}

// acksEarly confirms a message when it is delivered.
func acksEarly(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{}) {
	for m := range in {
		m.Ack()
		send(out, stop, copied(m))
	}
}

// reverses delivers what came within a second in reverse order.
func reverses(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{}) {
	for first := range in {
		batch := []*message.Message{first}
		for idle := time.After(time.Second); ; {
			select {
			case m, ok := <-in:
				if ok {
					batch = append(batch, m)
					continue
				}
			case <-idle:
			}
			break
		}
		for _, m := range slices.Backward(batch) {
			send(out, stop, m)
		}
	}
}

// skips confirms everything before a message that is acknowledged.
func skips(in <-chan *message.Message, out chan<- *message.Message, stop <-chan struct{}) {
	var before []*message.Message
	var wg sync.WaitGroup
	defer wg.Wait()
	for m := range in {
		before = append(before, m)
		upTo, c := slices.Clone(before), copied(m)
		wg.Go(func() {
			select {
			case <-c.Acked():
				for _, b := range upTo {
					b.Ack()
				}
			case <-c.Nacked():
			case <-stop:
			}
		})
		send(out, stop, c)
	}
}

// drops loses every seventh message.
func drops() func(message.Publisher, string, []*message.Message) error {
	var n atomic.Int32
	return func(next message.Publisher, topic string, messages []*message.Message) error {
		var kept []*message.Message
		for _, m := range messages {
			if n.Add(1)%7 != 0 {
				kept = append(kept, m)
			}
		}
		return next.Publish(topic, kept...)
	}
}

// dropsLetters loses dead letters.
func dropsLetters(next message.Publisher, topic string, messages []*message.Message) error {
	if strings.HasSuffix(topic, ".DLT") {
		return nil
	}
	return next.Publish(topic, messages...)
}

func changes(change func(*message.Message)) func(message.Publisher, string, []*message.Message) error {
	return func(next message.Publisher, topic string, messages []*message.Message) error {
		for _, m := range messages {
			m = m.Copy()
			change(m)
			if err := next.Publish(topic, m); err != nil {
				return err
			}
		}
		return nil
	}
}

func ownGroups() func(string) string {
	var n atomic.Int32
	return func(group string) string { return fmt.Sprintf("%s-%d", group, n.Add(1)) }
}

// faults maps what is broken to a case that has to fail for it.
func faults() map[string]struct {
	fault broken
	cases []string
} {
	type entry = struct {
		fault broken
		cases []string
	}
	return map[string]entry{
		"acknowledges on delivery": {broken{deliver: acksEarly}, []string{
			"UnacknowledgedIsRedeliveredAfterClose", "UnacknowledgedIsRedeliveredAfterContextEnd", "OutOfOrderAcksNeverSkip"}},
		"reorders": {broken{deliver: reverses}, []string{
			"OrderPerKeyWithKeysInParallel", "OrderAcrossNackAndRetry", "KeylessIsOneKey", "OneUnacknowledgedPerKey",
			"PoisonMessageIsDeadLettered", "InfrastructurePauseLosesNothing"}},
		"confirms everything before an ack": {broken{deliver: skips}, []string{"OutOfOrderAcksNeverSkip"}},
		"loses messages":                    {broken{publish: drops()}, []string{"GroupsEachGetAll", "GroupResumesWhereItStopped", "DeclaredGroupGetsEverything", "InstancesShareAGroup"}},
		"loses dead letters":                {broken{publish: dropsLetters}, []string{"PoisonMessageIsDeadLettered", "DeadLetterThatCannotBePublishedPauses"}},
		"one group for all":                 {broken{group: func(string) string { return "same" }}, []string{"GroupsEachGetAll", "NewGroupStartsAtEarliest"}},
		"forgets where a group stood":       {broken{group: ownGroups()}, []string{"GroupResumesWhereItStopped", "AnInstanceTakesOverWhereTheOtherStopped", "DrainOnShutdown"}},
		"drops metadata":                    {broken{publish: changes(func(m *message.Message) { delete(m.Metadata, "empty") })}, []string{"BytesAndMetadataRoundTrip"}},
		"changes bytes":                     {broken{publish: changes(func(m *message.Message) { m.Payload = []byte(strings.ToValidUTF8(string(m.Payload), "?")) })}, []string{"BytesAndMetadataRoundTrip"}},
		"changes ids":                       {broken{publish: changes(func(m *message.Message) { m.UUID = strings.ToUpper(m.UUID) })}, []string{"BytesAndMetadataRoundTrip"}},
		"has no memory of its groups":       {broken{group: ownGroups(), lag: func([]bus.Lag) []bus.Lag { return nil }}, []string{"LagCountsDown"}},
		"shows too much":                    {broken{browse: func(all []*message.Message) []*message.Message { return append(all, all...) }}, []string{"BrowseConsumesNothing"}},
		"cannot declare":                    {broken{declare: func(context.Context, ...bus.Topic) error { return errors.New("no") }}, []string{"DeclaredGroupGetsEverything"}},
		"stays open":                        {broken{closed: func() error { return nil }}, []string{"PublishAfterClose"}},
		"fails to close":                    {broken{closed: func() error { return errors.New("stuck") }}, []string{"CloseIsIdempotent"}},
		"is gone after reopening":           {broken{}, []string{"GroupSurvivesReopening"}}, // membus itself
	}
}

// notBroken lists the cases that no fault of a driver can fail here, and why.
var notBroken = map[string]string{
	"PublisherCloseClosesNothing": "bus.Bus shields the driver's publisher",
	"UnknownParameter":            "shown by TestAnOpenerThatTakesAnyParameterFails",
}

func TestABrokenDriverFails(t *testing.T) {
	failed := map[string]bool{}
	for name, f := range faults() {
		for _, c := range f.cases {
			t.Run(name+"/"+c, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					err := runCase(t, c, func(d bus.Driver) bus.Driver {
						fault := f.fault
						fault.Driver = d
						return fault
					})
					if err == nil {
						t.Error("the case passed on a driver that " + name)
					}
					t.Log(err)
				})
			})
			failed[c] = true
		}
	}
	for _, c := range bustest.Cases() {
		if _, ok := notBroken[c.Name]; ok == failed[c.Name] {
			t.Errorf("%s: no broken driver fails it, so nobody knows that it can fail", c.Name)
		}
	}
}

// The control of the test above: without a fault every case passes, except the
// one that membus is ruled out of.
func TestASoundDriverPasses(t *testing.T) {
	for _, c := range bustest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := runCase(t, c.Name, func(d bus.Driver) bus.Driver { return broken{Driver: d} })
				if (err != nil) != (c.Name == "GroupSurvivesReopening") {
					t.Error(err)
				}
			})
		})
	}
}

func runCase(t *testing.T, name string, wrap func(bus.Driver) bus.Driver) error {
	t.Helper()
	i := slices.IndexFunc(bustest.Cases(), func(c bustest.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no case %s", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	o := bus.NewOpener(membus.Scheme())
	var under []bus.Driver // closed for sure, whatever a wrapper does
	again := func() (*bus.Bus, error) {
		b, err := o.Open(ctx, "mem://store")
		if err != nil {
			return nil, err
		}
		under = append(under, b.Driver())
		return bus.New("broken", wrap(b.Driver())), nil
	}
	b, err := again()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		b.Close() //nolint:errcheck // it may be broken
		for _, d := range under {
			d.Close() //nolint:errcheck // it may be closed
		}
	}()
	return bustest.Cases()[i].Test(ctx, bustest.Env{
		Bus: b, Again: again,
		OpenURL: func(ctx context.Context, query string) (*bus.Bus, error) { return o.Open(ctx, "mem://?"+query) },
	})
}

type careless struct{}

func (careless) Name() string { return "careless" }
func (careless) Open(ctx context.Context, _ *url.URL) (bus.Driver, error) {
	return membus.Scheme().Open(ctx, &url.URL{Scheme: "mem"})
}

func TestAnOpenerThatTakesAnyParameterFails(t *testing.T) {
	i := slices.IndexFunc(bustest.Cases(), func(c bustest.Case) bool { return c.Name == "UnknownParameter" })
	o := bus.NewOpener(careless{})
	err := bustest.Cases()[i].Test(t.Context(), bustest.Env{OpenURL: func(ctx context.Context, query string) (*bus.Bus, error) {
		return o.Open(ctx, "careless://?"+query)
	}})
	if err == nil {
		t.Error("the case passed")
	}
}

func TestEveryRuleNamesACaseAndAFlag(t *testing.T) {
	cases := map[string]bool{}
	for _, c := range bustest.Cases() {
		if cases[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		cases[c.Name] = true
	}
	flags := map[string]bool{bustest.FlagRestart: true, bustest.FlagLagger: true, bustest.FlagInspector: true,
		"Durable": true, "OrderedPerKey": true, "ConsumerGroups": true, "Broadcast": true, "DelayedRedelivery": true, "NativeDeadLetter": true}
	for _, r := range bustest.RuledOut() {
		if !cases[r.Case] && !strings.HasPrefix(r.Case, "Test") {
			t.Errorf("there is no case %s", r.Case)
		}
		if !flags[r.Flag] || r.Reason == "" {
			t.Errorf("the rule for %s has flag %q and reason %q", r.Case, r.Flag, r.Reason)
		}
	}
	if want := slices.Sorted(maps.Keys(cases)); len(want) < 20 {
		t.Errorf("only %d cases: %v", len(want), want)
	}
}
