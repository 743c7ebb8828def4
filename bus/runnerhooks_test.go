package bus_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// runs collects the calls of OnHandled.
type runs struct {
	mu  sync.Mutex
	all []bus.Report
}

func (r *runs) add(h bus.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, h)
}

// Each run of a handler is reported with its duration and result, also one that panics. A
// skipped message is not a run.
func TestEachRunOfAHandlerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		b := memBus(t)
		var told runs
		var attempts atomic.Int64
		r := start(t, b, bus.RunnerConfig{Hooks: bus.Hooks{OnHandled: told.add}},
			bus.Consumer{Topic: "one", Group: "g", Retry: bus.RetryPolicy{Backoff: exact}, Handler: func(*message.Message) error {
				attempt := attempts.Add(1)
				time.Sleep(time.Duration(attempt) * time.Millisecond)
				switch attempt {
				case 1:
					return failed
				case 2:
					panic("oh")
				}
				return nil
			}},
			bus.BatchConsumer{Topic: "many", Group: "g", Wait: time.Second, Handler: func(_ context.Context, messages []*message.Message) error {
				time.Sleep(time.Minute)
				some := bus.BatchError{}
				some[len(messages)-1] = fault.MarkPermanent(failed)
				return some.OrNil()
			}},
		)
		publish(t, b, "one", keyed("a", 1))
		publish(t, b, "many", keyed("a", 1), keyed("b", 1), keyed("c", 1))
		time.Sleep(2 * time.Minute)
		r.stop(t)
		slices.SortStableFunc(told.all, func(a, b bus.Report) int { return int(a.Took - b.Took) })
		for i, want := range []bus.Report{
			{Topic: "one", Group: "g", Messages: 1, Took: time.Millisecond, Err: failed},
			{Topic: "one", Group: "g", Messages: 1, Took: 2 * time.Millisecond, Panicked: true},
			{Topic: "one", Group: "g", Messages: 1, Took: 3 * time.Millisecond},
			{Topic: "many", Group: "g", Messages: 3, Took: time.Minute},
		} {
			if i >= len(told.all) {
				t.Fatalf("%d runs were told: %+v", len(told.all), told.all)
			}
			got := told.all[i]
			var some bus.BatchError
			if want.Topic == "many" && errors.As(got.Err, &some) {
				got.Err = nil
			}
			if got != want {
				t.Errorf("run %d: %+v, want %+v", i, got, want)
			}
		}
	})
}

// The hooks of the Runner are called after those of the consumer, for each of them, and a pause
// is counted.
func TestHooksOfTheRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		hooks := func(who string) bus.Hooks {
			return bus.Hooks{
				OnRetry:      func(r bus.Report) { j.add("%s retry %s", who, r.Topic) },
				OnRecovered:  func(r bus.Report) { j.add("%s recovered %s", who, r.Topic) },
				OnDeadLetter: func(d bus.Report) { j.add("%s dead letter %s", who, d.Topic) },
				OnPause:      func(p bus.Report) { j.add("%s pause %s", who, p.Topic) },
				OnResume:     func(r bus.Report) { j.add("%s resume %s", who, r.Topic) },
				OnObsolete:   func(o bus.Report) { j.add("%s obsolete %s", who, o.Topic) },
				OnHandled:    func(h bus.Report) { j.add("%s handled %s", who, h.Topic) },
			}
		}
		tries := func(what ...error) message.NoPublishHandlerFunc {
			var attempts atomic.Int64
			return func(*message.Message) error { return what[attempts.Add(1)-1] }
		}
		r := start(t, b, bus.RunnerConfig{Hooks: hooks("all:")},
			bus.Consumer{Topic: "a", Group: "g", Retry: probing, Hooks: hooks("own:"), Handler: tries(errDown, nil)},
			bus.Consumer{Topic: "b", Group: "g", Retry: bus.RetryPolicy{Backoff: exact}, Handler: tries(errors.New("once"), fault.MarkPermanent(errors.New("for good")))},
			bus.Consumer{Topic: "c", Group: "g", Current: func(context.Context, string) (uint64, error) { return 2, nil }, Handler: tries()},
		)
		publish(t, b, "a", keyed("a", 1))
		time.Sleep(10 * time.Second)
		publish(t, b, "b", keyed("b", 1))
		time.Sleep(10 * time.Second)
		publish(t, b, "c", versioned(t, "c", 1))
		time.Sleep(10 * time.Second)
		for i, pauses := range []int64{1, 0, 0} {
			if s := r.Status()[i]; s.Pauses != pauses {
				t.Errorf("%s paused %d times, want %d", s.Topic, s.Pauses, pauses)
			}
		}
		r.stop(t)
		j.expect(t,
			"0s own: handled a", "0s all: handled a", "0s own: pause a", "0s all: pause a",
			"1s own: handled a", "1s all: handled a", "1s own: recovered a", "1s all: recovered a", "1s own: resume a", "1s all: resume a",
			"10s all: handled b", "10s all: retry b", "11s all: handled b", "11s all: dead letter b",
			"20s all: obsolete c",
		)
	})
}

// Published and refused messages are counted, but not those that the caller cancelled.
func TestPublishingIsCounted(t *testing.T) {
	refusing := &refusingPublisher{}
	b := bus.New("x", outgoing{memBus(t).Driver(), refusing})
	some := &bus.PublishError{Outcomes: []driver.Outcome{driver.Published, driver.Unknown}, Err: context.Canceled}
	for _, err := range []error{nil, errors.New("away"), context.Canceled, some} {
		refusing.err = err
		assert.ErrorIs(t, b.Publisher().Publish("t", keyed("a", 1), keyed("b", 2)), err)
	}
	if got, want := b.Stats(), (bus.Stats{Published: 3, Failed: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

type outgoing struct {
	driver.Driver
	pub message.Publisher
}

func (p outgoing) Publisher() message.Publisher { return p.pub }

type refusingPublisher struct{ err error }

func (p *refusingPublisher) Publish(string, ...*message.Message) error { return p.err }
func (p *refusingPublisher) Close() error                              { return nil }
