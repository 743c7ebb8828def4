package logsub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

func TestPublishKeepsOrderAndLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{Partitions: 3})
		var batch []*message.Message
		for _, p := range append(series("a", 1, 50), series("b", 1, 50)...) {
			batch = append(batch, msg(p))
		}
		batch = append(batch, msg("#1"))
		require.NoError(t, i.Publisher().Publish(topic, batch...))
		lanes := map[string]int{}
		for n, e := range m.entries {
			require.Equalf(t, batch[n].UUID, e.MessageID, "entry %d is %s", n, e.MessageID)
			if lane, ok := lanes[e.Key]; ok && lane != e.Lane {
				t.Fatalf("key %s is on lanes %d and %d", e.Key, lane, e.Lane)
			}
			lanes[e.Key] = e.Lane
			if e.Key == "" && (e.Lane != 0 || e.Headers != "") {
				t.Errorf("the keyless message without metadata is %+v", e)
			}
		}
		if m.commits != 1 {
			t.Errorf("one call took %d transactions", m.commits)
		}
	})
}

// Calls that arrive during a commit share the next commit.
func TestConcurrentPublishesShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish("k#0") // the topic exists, and there was no other call to wait for
		slow := func(op string) error {
			if op == "begin" {
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}
		i.link.fail.Store(&slow)
		m.commits = 0
		started := time.Now()
		i.publish("k#1")
		assert.Equal(t, 10*time.Millisecond, time.Since(started), "a lone caller took")
		var wg sync.WaitGroup
		started = time.Now()
		for n := range 100 {
			wg.Go(func() {
				assert.NoError(t, i.Publisher().Publish(topic, msg(fmt.Sprintf("k#%d", n))))
			})
		}
		wg.Wait()
		if took := time.Since(started); took > 30*time.Millisecond || m.commits > 4 {
			t.Errorf("100 concurrent calls took %d commits and %v", m.commits-1, took)
		}
		assert.Len(t, m.entries, 102, "messages were published")
	})
}

// A message that the database refuses fails alone, without the other calls that share its
// commit; when the database is absent, all of them fail.
func TestPublishErrorsReachTheRightCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish("k#0")
		refused := errors.New("refused")
		var bad atomic.Bool
		slow := func(op string) error {
			switch op {
			case "begin":
				time.Sleep(time.Millisecond)
			case "append":
				if bad.Load() {
					return errCut
				}
			}
			return nil
		}
		i.link.fail.Store(&slow)
		refuse := func(id string) error {
			if strings.HasPrefix(id, "bad") {
				return fault.MarkPermanent(refused)
			}
			return nil
		}
		i.link.refuse.Store(&refuse)
		var failed, wrong atomic.Int32
		var wg sync.WaitGroup
		for n := range 50 {
			wg.Go(func() {
				name := "good"
				if n%10 == 7 {
					name = "bad"
				}
				err := i.Publisher().Publish(topic, msg(fmt.Sprintf("%s#%d", name, n)))
				if errors.Is(err, refused) {
					failed.Add(1)
				}
				if (err != nil) != (name == "bad") {
					wrong.Add(1)
				}
			})
		}
		wg.Wait()
		if failed.Load() != 5 || wrong.Load() != 0 {
			t.Errorf("%d calls failed and %d had the wrong outcome; want 5 and 0", failed.Load(), wrong.Load())
		}
		bad.Store(true)
		failed.Store(0)
		for n := range 10 {
			wg.Go(func() {
				if err := i.Publisher().Publish(topic, msg(fmt.Sprintf("k#%d", n))); errors.Is(err, errCut) {
					failed.Add(1)
				}
			})
		}
		wg.Wait()
		if failed.Load() != 10 || len(m.entries) != 46 {
			t.Errorf("%d of 10 calls failed, %d messages are there; want 10 and 46", failed.Load(), len(m.entries))
		}
	})
}

func TestPublishRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		bytes := msg("k#1")
		bytes.Metadata.Set("name", "\xff\xfe")
		for what, err := range map[string]error{
			"metadata that is no text": i.Publisher().Publish(topic, bytes),
			"no topic":                 i.Publisher().Publish("", msg("k#1")),
			"a long topic":             i.Publisher().Publish(strings.Repeat("x", 256), msg("k#1")),
		} {
			assert.Equalf(t, fault.Permanent, fault.Of(err), "%s: %v, want a permanent error", what, err)
		}
		assert.NoError(t, i.Publisher().Publish(topic), "publishing nothing")
	})
}

func published(m *memory) (ids []string) {
	for _, e := range m.entries {
		ids = append(ids, e.MessageID)
	}
	return ids
}

func in(ctx context.Context, m *message.Message) *message.Message {
	m.SetContext(ctx)
	return m
}

// outcome returns the outcome in an error of Publish.
func outcome(err error) driver.Outcome {
	var failed *driver.PublishError
	if !errors.As(err, &failed) {
		return 0
	}
	return failed.Outcomes[0]
}

// A call whose context ends returns at once. If its write has not begun, nothing is published;
// if it has, the outcome is unknown, and the error tells that.
func TestPublishHeedsContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish("k#0")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := i.Publisher().Publish(topic, in(ended, msg("k#1"))); !errors.Is(err, context.Canceled) || outcome(err) != driver.NotSent {
			t.Errorf("with a context that has ended: %v", err)
		}
		slow := func(op string) error {
			if op == "begin" {
				time.Sleep(10 * time.Second) // and ignores its context
			}
			return nil
		}
		i.link.fail.Store(&slow)
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		var calls sync.WaitGroup
		for n, want := range []driver.Outcome{driver.Unknown, driver.NotSent} { // the first is being written, the second is queued
			calls.Go(func() {
				err := i.Publisher().Publish(topic, in(limited, msg(fmt.Sprintf("k#%d", n+3))))
				if !errors.Is(err, context.DeadlineExceeded) || outcome(err) != want || time.Since(began) != time.Second {
					t.Errorf("call %d returned after %v: %v", n, time.Since(began), err)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		require.NoError(t, i.Publisher().Close())
		if ids := published(m); !slices.Equal(ids, []string{"k#0", "k#3"}) {
			t.Errorf("published %v; want k#0 and what was being written", ids)
		}
		i.link.fail.Store(nil)
	})
}

// A write that panics fails its own call, and the publisher continues.
func TestPublishSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish("k#0")
		broken := func(op string) error {
			if op == "append" {
				panic("a broken driver")
			}
			return nil
		}
		i.link.fail.Store(&broken)
		if err := i.Publisher().Publish(topic, msg("k#1")); err == nil || !strings.Contains(err.Error(), "a broken driver") {
			t.Errorf("a write that panicked: %v", err)
		}
		i.link.fail.Store(nil)
		i.publish("k#2")
		assert.Equal(t, []string{"k#0", "k#2"}, published(m), "published")
	})
}

func TestPublisherCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish("k#0")
		slow := func(string) error { time.Sleep(time.Second); return nil }
		i.link.fail.Store(&slow)
		go func() {
			assert.NoError(t, i.Publisher().Publish(topic, msg("k#1")))
		}()
		synctest.Wait()
		require.NoError(t, i.Publisher().Close())
		assert.Len(t, m.entries, 2, "Close did not wait for a call under way")
		assert.ErrorIs(t, i.Publisher().Publish(topic, msg("k#2")), logsub.ErrClosed, "after Close")
		i.link.fail.Store(nil)
	})
}

// cutLane is the error of an append that has failed for one lane only.
type cutLane int

func (cutLane) Error() string { return "one lane is cut" }
func (cutLane) Unwrap() error { return errCut }

func (c cutLane) Lane(lane int) error {
	if lane == int(c) {
		return errCut
	}
	return nil
}

// Where topics hang alone, a call does not wait for one of another topic.
func TestTopicsHangApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.apart = true
		i := start(t, m, one)
		i.publish("k#0")
		require.NoError(t, i.Publisher().Publish("hangs", msg("k#0")))
		var once atomic.Bool
		slow := func(op string) error {
			if op == "begin" && !once.Swap(true) {
				time.Sleep(time.Second)
			}
			return nil
		}
		i.link.fail.Store(&slow)
		began := time.Now()
		go i.Publisher().Publish("hangs", msg("k#1")) //nolint:errcheck // it is not looked at
		synctest.Wait()
		if i.publish("k#1"); time.Since(began) > 0 {
			t.Errorf("it waited %v for a topic that hangs", time.Since(began))
		}
	})
}

// Of calls that share an append, only those fail whose lanes have failed.
func TestLanesFailApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		for _, topic := range []string{"good", "bad"} {
			require.NoError(t, i.Publisher().Publish(topic, msg("k#0")))
		}
		bad := m.entries[1].Lane
		slow := func(op string) error {
			if op == "begin" {
				time.Sleep(time.Millisecond)
			}
			return nil
		}
		i.link.fail.Store(&slow)
		refuse := func(id string) error {
			if strings.HasPrefix(id, "bad") {
				return cutLane(bad)
			}
			return nil
		}
		i.link.refuse.Store(&refuse)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				assert.NoError(t, i.Publisher().Publish("good", msg("k#1")), "on a lane that has not failed")
			})
			wg.Go(func() {
				m := msg("k#1")
				m.UUID = "bad" + m.UUID
				assert.ErrorIs(t, i.Publisher().Publish("bad", m), errCut, "on a lane that has failed")
			})
		}
		wg.Wait()
	})
}
