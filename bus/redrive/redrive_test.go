package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

func summary(r redrive.Result) string {
	return fmt.Sprintf("seen %d matched %d done %d duplicates %d moved %d failed %d complete %t",
		r.Seen, r.Matched, r.Done, r.Duplicates, r.Moved, len(r.Failed), r.Complete)
}

func TestRedriveAll(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, numbers(1, 250)...)
		res, err := letters(t, b).Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
		require.NoError(t, err)
		is(t, "result", summary(res), "seen 250 matched 250 done 250 duplicates 0 moved 0 failed 0 complete true")
		is(t, "original topic", delivered(t, b), strings.Join(numbers(1, 250), " "))
		is(t, "pending", pending(t, b), "")
	})
}

// A redriven message is the original: its bytes, its metadata, its id, and the
// count of redrives.
func TestARedrivenMessageIsTheOriginal(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		var first *message.Message
		fails := true
		stop := run(t, b, bus.Consumer{Topic: "orders", Group: "billing", Retry: bus.FixedRetry(time.Second, 0), Handler: func(m *message.Message) error {
			if fails {
				return errRefused
			}
			return nil
		}})
		e, err := event.New("OrderPlaced", "test", map[string]string{"odd": "좌석 🎟"})
		require.NoError(t, err)
		if first, err = (event.Structured{}).Encode(e); err != nil {
			t.Fatal(err)
		}
		first.Metadata.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		publish(t, b, "orders", first)
		for n := 1; n <= 3; n++ {
			time.Sleep(time.Minute)
			synctest.Wait()
			if n == 3 {
				fails = false
			}
			res, err := letters(t, b).Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
			if err != nil || res.Done != 1 {
				t.Fatalf("redrive %d: %s, %v", n, summary(res), err)
			}
			all := received(t, b, "orders")
			got := all[len(all)-1]
			if len(all) != n+1 || got.UUID != first.UUID || string(got.Payload) != string(first.Payload) {
				t.Errorf("redrive %d: got %s %s", n, got.UUID, got.Payload)
			}
			want := map[string]string{driver.DLQRedrive: fmt.Sprint(n)}
			for k, v := range first.Metadata {
				want[k] = v
			}
			if fmt.Sprint(map[string]string(got.Metadata)) != fmt.Sprint(want) {
				t.Errorf("redrive %d: metadata %v, want %v", n, got.Metadata, want)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		is(t, "pending", pending(t, b), "")
	})
}

// An unselected letter stays pending, at any place in the topic.
func TestRedriveSelected(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, numbers(1, 9)...)
		l := letters(t, b)
		res, err := l.Redrive(t.Context(), redrive.Filter{IDs: []string{"3", "6"}}, redrive.Options{})
		require.NoError(t, err)
		is(t, "result", summary(res), "seen 9 matched 2 done 2 duplicates 0 moved 4 failed 0 complete true")
		is(t, "original topic", delivered(t, b), "3 6")
		is(t, "pending", pending(t, b), "7 8 9 1 2 4 5")
		if res, err = l.Drop(t.Context(), redrive.Filter{IDs: []string{"7"}}, redrive.Options{}); err != nil {
			t.Fatal(err)
		}
		is(t, "result", summary(res), "seen 7 matched 1 done 1 duplicates 0 moved 0 failed 0 complete true")
		if res, err = l.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{Limit: 2}); err != nil {
			t.Fatal(err)
		}
		is(t, "result", summary(res), "seen 2 matched 2 done 2 duplicates 0 moved 0 failed 0 complete false")
		is(t, "original topic", delivered(t, b), "3 6 8 9")
		is(t, "pending", pending(t, b), "1 2 4 5")
		if res, err = l.Drop(t.Context(), redrive.Filter{All: true}, redrive.Options{}); err != nil {
			t.Fatal(err)
		}
		is(t, "result", summary(res), "seen 4 matched 4 done 4 duplicates 0 moved 0 failed 0 complete true")
		is(t, "original topic", delivered(t, b), "3 6 8 9")
		is(t, "pending", pending(t, b), "")
	})
}

// An id that no letter has is reported, by a rehearsal as by a pass.
func TestMissingIDsAreTold(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, numbers(1, 3)...)
		l := letters(t, b)
		for _, dry := range []bool{true, false} {
			res, err := l.Redrive(t.Context(), redrive.Filter{IDs: []string{"9", "2", "8"}}, redrive.Options{DryRun: dry})
			require.NoError(t, err)
			is(t, "missing", strings.Join(res.Missing, " "), "8 9")
			is(t, "done", fmt.Sprint(res.Done, res.Complete), "1 true")
		}
		res, err := l.Drop(t.Context(), redrive.Filter{IDs: []string{"1"}}, redrive.Options{})
		if err != nil || len(res.Missing) > 0 {
			t.Errorf("missing are %q, %v; want none", res.Missing, err)
		}
	})
}

// A consumer that still fails sends redriven messages back; the pass takes the letters that were
// there when it began, and ends.
func TestWhatFailsAgainWaitsForTheNextPass(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		stop := run(t, b, bus.Consumer{Topic: "orders", Group: "billing", Retry: bus.FixedRetry(time.Nanosecond, 0),
			Handler: func(*message.Message) error { return fault.MarkPermanent(errRefused) }})
		bury(t, b, numbers(1, 300)...)
		time.Sleep(time.Second)
		l := letters(t, b)
		for n := 1; n <= 2; n++ {
			res, err := l.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{Rate: 1000})
			require.NoError(t, err)
			if res.Done != 300 {
				t.Errorf("pass %d: %s", n, summary(res))
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			got, err := l.List(t.Context(), redrive.Filter{}, 0)
			if err != nil || len(got.Letters) != 300 || got.Letters[17].Redrives != n {
				t.Errorf("after pass %d: %d letters, %v", n, len(got.Letters), err)
			}
		}
		stop()
	})
}

// Redriving reaches every group; a group that handled the message recognises its id.
func TestLettersOfTwoGroupsAreOneMessage(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		other := dead(t, "1", "OrderPlaced")
		other.Metadata.Set(driver.DLQGroup, "mailer")
		bury(t, b, "1", "2")
		publish(t, b, dlt, other)
		is(t, "pending", pending(t, b), "1 2 1")
		res, err := letters(t, b).Redrive(t.Context(), redrive.Filter{IDs: []string{"1"}}, redrive.Options{DryRun: true})
		require.NoError(t, err)
		is(t, "dry run", summary(res), "seen 3 matched 1 done 1 duplicates 1 moved 0 failed 0 complete true")
		res, err = letters(t, b).Redrive(t.Context(), redrive.Filter{IDs: []string{"1"}}, redrive.Options{})
		require.NoError(t, err)
		is(t, "result", summary(res), "seen 3 matched 1 done 1 duplicates 1 moved 1 failed 0 complete true")
		is(t, "original topic", delivered(t, b), "1")
		is(t, "pending", pending(t, b), "2")
	})
}

func TestALetterThatCannotBeRedrivenStaysAndKeepsNobody(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		homeless := dead(t, "homeless", "OrderPlaced")
		delete(homeless.Metadata, driver.DLQOriginalTopic)
		lost := dead(t, "lost", "OrderPlaced")
		lost.Metadata.Set(driver.DLQOriginalTopic, "gone")
		bury(t, b, "1")
		publish(t, b, dlt, homeless, lost)
		bury(t, b, "2")
		refusing := bus.New("refusing", refusing{b.Driver(), func(topic string) error {
			if topic == "gone" {
				return fault.MarkPermanent(errRefused)
			}
			return nil
		}})
		res, err := letters(t, refusing).Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
		require.NoError(t, err)
		is(t, "result", summary(res), "seen 4 matched 4 done 2 duplicates 0 moved 2 failed 2 complete true")
		if f := res.Failed; f[0].ID != "homeless" || !strings.Contains(f[0].Err.Error(), "dlq_original_topic") || f[1].ID != "lost" || !errors.Is(f[1].Err, errRefused) {
			t.Errorf("failed: %v", f)
		}
		is(t, "original topic", delivered(t, b), "1 2")
		is(t, "pending", pending(t, b), "homeless lost")
	})
}

// refusing is a driver whose publisher refuses some topics.
type refusing struct {
	driver.Driver
	refuses func(topic string) error
}

func (r refusing) Lag(ctx context.Context) ([]bus.Lag, error) {
	if l, ok := r.Driver.(driver.Lagger); ok {
		return l.Lag(ctx)
	}
	return nil, errors.ErrUnsupported
}

func (r refusing) Publisher() message.Publisher { return refusingPublisher{r.Driver.Publisher(), r} }

type refusingPublisher struct {
	message.Publisher
	refusing
}

func (p refusingPublisher) Publish(topic string, messages ...*message.Message) error {
	if err := p.refuses(topic); err != nil {
		return err
	}
	return p.Publisher.Publish(topic, messages...)
}
func (p refusingPublisher) Close() error { return p.Publisher.Close() }

func TestRateProgressAndCancellation(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, numbers(1, 100)...)
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		var last redrive.Result
		calls := 0
		res, err := letters(t, b).Redrive(ctx, redrive.Filter{All: true}, redrive.Options{Rate: 10, Progress: func(r redrive.Result) {
			calls++
			if last = r; r.Done == 30 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || res.Done != 30 || res.Complete || summary(last) != summary(res) || calls != 31 {
			t.Errorf("%s after %d calls, the last with %s: %v", summary(res), calls, summary(last), err)
		}
		if took := time.Since(begin); took < 2900*time.Millisecond || took > 3500*time.Millisecond {
			t.Errorf("30 letters at 10/s took %s", took)
		}
		is(t, "pending", pending(t, b), strings.Join(numbers(31, 100), " "))
		is(t, "original topic", delivered(t, b), strings.Join(numbers(1, 30), " "))
	})
}

// cut is a driver whose calls end with the context of their messages, though the broker has the
// messages already.
type cut struct {
	refusing
	cancel func()
	hangs  bool // the broker does not answer
}

func (c cut) Publisher() message.Publisher { return cutPublisher{c.Driver.Publisher(), c} }

type cutPublisher struct {
	message.Publisher
	cut
}

func (p cutPublisher) Publish(topic string, messages ...*message.Message) error {
	p.cancel()
	if p.hangs {
		<-messages[0].Context().Done()
	} else if err := p.Publisher.Publish(topic, messages...); err != nil {
		return err
	}
	return messages[0].Context().Err()
}
func (p cutPublisher) Close() error { return p.Publisher.Close() }

// A pass that is cancelled while letters are published acknowledges them: the next pass does not
// redrive them again.
func TestACancelledPassIsNotRepeated(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, numbers(1, 3)...)
		ctx, cancel := context.WithCancel(t.Context())
		through := bus.New("cut", cut{refusing{Driver: b.Driver()}, cancel, false})
		res, err := letters(t, through).Redrive(ctx, redrive.Filter{All: true}, redrive.Options{Rate: 1})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, res.Done, "letters that the cancelled pass reports")
		_, err = letters(t, b).Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
		require.NoError(t, err)
		is(t, "original topic", delivered(t, b), "1 2 3")
	})
}

// A cancelled pass waits five seconds for a broker that does not answer.
func TestACancelledPassEndsThoughAPublishHangs(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, "1")
		ctx, cancel := context.WithCancel(t.Context())
		through := bus.New("cut", cut{refusing{Driver: b.Driver()}, cancel, true})
		began := time.Now()
		_, err := letters(t, through).Redrive(ctx, redrive.Filter{All: true}, redrive.Options{})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 5*time.Second, time.Since(began).Truncate(time.Second))
		is(t, "pending", pending(t, b), "1")
	})
}

// More letters than fit into the window, and the chosen ones at the end.
func TestASelectionBeyondTheWindow(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, numbers(1, 200)...)
		l, err := redrive.New(b, dlt, redrive.Config{Window: 32})
		require.NoError(t, err)
		res, err := l.Redrive(t.Context(), redrive.Filter{IDs: []string{"100", "150"}}, redrive.Options{})
		require.NoError(t, err)
		is(t, "original topic", delivered(t, b), "100 150")
		if res.Done != 2 || res.Moved < 148 || res.Moved > 170 {
			t.Errorf("%s", summary(res))
		}
		if res, err = l.Drop(t.Context(), redrive.Filter{IDs: []string{"none"}}, redrive.Options{}); err != nil || res.Done != 0 {
			t.Errorf("an id that nobody has: %s %v", summary(res), err)
		}
		assert.Len(t, strings.Fields(pending(t, b)), 198, "letters are left of 198")
	})
}

// Two passes at once share the group: each letter is done at least once, and a pass that saw
// only a part reports that.
func TestTwoPassesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, numbers(1, 40)...)
		results := make(chan redrive.Result, 2)
		for range 2 {
			go func() {
				res, err := letters(t, b).Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{Rate: 20})
				assert.NoError(t, err)
				results <- res
			}()
		}
		first, second := <-results, <-results
		if first.Done+second.Done != 40 {
			t.Errorf("%s and %s", summary(first), summary(second))
		}
		is(t, "pending", pending(t, b), "")
	})
}

func TestNewErrors(t *testing.T) {
	b := memBus(t)
	for want, try := range map[string]func() (*redrive.Letters, error){
		"bus is nil":     func() (*redrive.Letters, error) { return redrive.New(nil, dlt, redrive.Config{}) },
		"topic is empty": func() (*redrive.Letters, error) { return redrive.New(b, "", redrive.Config{}) },
		"Window is 5":    func() (*redrive.Letters, error) { return redrive.New(b, dlt, redrive.Config{Window: 5}) },
		"Wait is -1":     func() (*redrive.Letters, error) { return redrive.New(b, dlt, redrive.Config{Wait: -1}) },
	} {
		if _, err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	l := letters(t, b)
	for want, o := range map[string]redrive.Options{"Limit is -1": {Limit: -1}, "Rate is -2": {Rate: -2}} {
		if _, err := l.Redrive(t.Context(), redrive.Filter{All: true}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
