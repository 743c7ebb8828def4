package redrive_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// individual is a transport that stores every acknowledgement, as a queue does: membus, and
// beside it the acknowledgements behind an unacknowledged message.
type individual struct {
	driver.Driver
	mu    sync.Mutex
	acked map[string]bool
}

func (i *individual) Capabilities() driver.Capabilities {
	c := i.Driver.Capabilities()
	c.IndividualAcks = true
	return c
}

func (i *individual) Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error) {
	all, err := i.Driver.(driver.Pender).Pending(ctx, topic, group, limit)
	i.mu.Lock()
	defer i.mu.Unlock()
	var left []*message.Message
	for _, m := range all {
		if !i.acked[m.UUID] {
			left = append(left, m)
		}
	}
	return left, err
}

func (i *individual) Lag(ctx context.Context) ([]bus.Lag, error) {
	left, err := i.Pending(ctx, dlt, driver.RedriveGroup, 1000)
	return []bus.Lag{{Topic: dlt, Group: driver.RedriveGroup, Messages: len(left)}}, err
}

func (i *individual) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	return sourcetest.Source(ctx, i.Driver, topic, group, window, func(s message.Subscriber) message.Subscriber {
		return &individualSubscriber{Subscriber: s, store: i}
	})
}

type individualSubscriber struct {
	message.Subscriber
	store *individual
	all   []*message.Message
	wg    sync.WaitGroup
}

func (s *individualSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(ctx, topic)
	out := make(chan *message.Message, 1000)
	s.wg.Go(func() {
		defer close(out)
		for m := range in {
			s.store.mu.Lock()
			done := topic == dlt && s.store.acked[m.UUID]
			s.store.mu.Unlock()
			if done {
				continue
			}
			s.all = append(s.all, m)
			out <- m
		}
	})
	return out, err
}

func (s *individualSubscriber) Close() error {
	synctest.Wait()
	err := s.Subscriber.Close()
	s.wg.Wait()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for _, m := range s.all {
		select {
		case <-m.Acked():
			s.store.acked[m.UUID] = true
		default:
		}
	}
	return err
}

// Where every acknowledgement counts, no letter has to be moved.
func TestIndividualAcksNeedNoMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New("individual", &individual{Driver: memBus(t).Driver(), acked: map[string]bool{}})
		bury(t, b, numbers(1, 9)...)
		res, err := letters(t, b).Redrive(t.Context(), redrive.Filter{IDs: []string{"3", "6"}}, redrive.Options{})
		require.NoError(t, err)
		is(t, "result", summary(res), "seen 9 matched 2 done 2 duplicates 0 moved 0 failed 0 complete true")
		is(t, "pending", pending(t, b), "1 2 4 5 7 8 9")
		is(t, "original topic", delivered(t, b), "3 6")
	})
}

// serial is a transport that hands out one message at a time.
type serial struct{ plain }

func (s serial) Capabilities() driver.Capabilities {
	c := s.Driver.Capabilities()
	c.SerialGroups = true
	return c
}

func (s serial) Source(ctx context.Context, topic, group string, _ int) (driver.Source, error) {
	return s.Driver.Source(ctx, topic, group, 1)
}

func TestASelectionWhereOneMessageIsOutAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memBus(t)
		b := bus.New("serial", serial{plain{mem.Driver()}})
		bury(t, mem, numbers(1, 9)...)
		res, err := letters(t, b).Redrive(t.Context(), redrive.Filter{IDs: []string{"3", "6"}}, redrive.Options{})
		require.NoError(t, err)
		if res.Done != 2 {
			t.Errorf("%s", summary(res))
		}
		is(t, "original topic", delivered(t, mem), "3 6")
		if left := len(pending(t, mem)); left != len("1 2 3 4 5 6 7") {
			t.Errorf("pending: %s", pending(t, mem))
		}
	})
}

// distant is a transport that needs a round trip for each Fetch.
type distant struct{ plain }

func (d distant) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	s, err := d.Driver.Source(ctx, topic, group, window)
	return distantSource{s}, err
}

type distantSource struct{ driver.Source }

func (s distantSource) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	select {
	case <-time.After(50 * time.Millisecond):
		return s.Source.Fetch(ctx, most)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// The time that a pass takes to publish is not time in which the transport had no letter: a slow
// rate ends no pass before its last letter.
func TestASlowRateReachesEveryLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memBus(t)
		bury(t, mem, numbers(1, 40)...)
		l, err := redrive.New(bus.New("distant", distant{plain{mem.Driver()}}), dlt, redrive.Config{Window: 16})
		require.NoError(t, err)
		res, err := l.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{Rate: 0.05})
		require.NoError(t, err)
		is(t, "result", summary(res), "seen 40 matched 40 done 40 duplicates 0 moved 0 failed 0 complete true")
	})
}

// absent is a transport whose server does not answer.
type absent struct{ plain }

func (absent) Source(ctx context.Context, _, _ string, _ int) (driver.Source, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// An operator can cancel a pass that waits for the server.
func TestACancelledPassDoesNotWaitForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := letters(t, bus.New("absent", absent{plain{memBus(t).Driver()}}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := l.Redrive(ctx, redrive.Filter{All: true}, redrive.Options{})
			ended <- err
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-ended:
			assert.ErrorIs(t, err, context.Canceled, "the cancelled pass ended with")
		default:
			t.Fatal("a cancelled pass waits for the server")
		}
	})
}

// takesBack is a transport that takes the first letter of a pass back at once, as after a lost
// lease, and delivers it again.
type takesBack struct{ plain }

func (b takesBack) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	s, err := b.Driver.Source(ctx, topic, group, window)
	return &takesBackSource{Source: s}, err
}

type takesBackSource struct {
	driver.Source
	again []driver.Delivery
	began bool
}

func (s *takesBackSource) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	if len(s.again) > 0 {
		all := s.again
		s.again = nil
		return all, nil
	}
	all, err := s.Source.Fetch(ctx, most)
	if err != nil || s.began {
		return all, err
	}
	s.began, s.again = true, all
	return []driver.Delivery{takenBack{all[0]}}, nil
}

type takenBack struct{ driver.Delivery }

func (takenBack) Done() {}
func (takenBack) Back() {}
func (takenBack) Context() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(driver.ErrRevoked)
	return ctx
}

// A letter that the transport takes back before it is redriven, and delivers again in the same
// pass, is redriven then: it is no duplicate.
func TestALetterThatIsTakenBackIsNotLost(t *testing.T) {
	for name, test := range map[string]struct {
		change func(ctx context.Context, l *redrive.Letters) (redrive.Result, error)
		want   string
	}{
		"redrive": {func(ctx context.Context, l *redrive.Letters) (redrive.Result, error) {
			return l.Redrive(ctx, redrive.Filter{IDs: []string{"1", "2"}}, redrive.Options{})
		}, "seen 3 matched 2 done 2 duplicates 0 moved 0 failed 0 complete true"},
		"drop": {func(ctx context.Context, l *redrive.Letters) (redrive.Result, error) {
			return l.Drop(ctx, redrive.Filter{All: true}, redrive.Options{})
		}, "seen 3 matched 3 done 3 duplicates 0 moved 0 failed 0 complete true"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memBus(t)
				bury(t, mem, numbers(1, 3)...)
				res, err := test.change(t.Context(), letters(t, bus.New("takes back", takesBack{plain{mem.Driver()}})))
				require.NoError(t, err)
				is(t, "result", summary(res), test.want)
				if len(res.Missing) > 0 {
					t.Errorf("missing %v", res.Missing)
				}
				if name == "redrive" {
					is(t, "original topic", delivered(t, mem), "1 2")
					is(t, "pending", pending(t, mem), "3")
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		mem := memBus(t)
		bury(t, mem, "1")
		payload := dead(t, "1", "OrderChanged").Payload
		require.NoError(t, letters(t, bus.New("takes back", takesBack{plain{mem.Driver()}})).Edit(t.Context(), "1", payload))
		if l, err := letters(t, mem).Show(t.Context(), "1"); err != nil || l.Type != "OrderChanged" {
			t.Errorf("after an edit: %s, %v", l.Type, err)
		}
	})
}
