package wmsource_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/wmsource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// adapter is a subscriber that the test controls.
type adapter struct {
	out    chan *message.Message
	ended  context.Context // of the subscription
	closed chan struct{}
	events []string // the parts that ended, in order
}

func newAdapter(buffer int) *adapter {
	return &adapter{out: make(chan *message.Message, buffer), closed: make(chan struct{})}
}

func (a *adapter) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	a.ended = ctx
	go func() {
		<-ctx.Done()
		close(a.out)
	}()
	return a.out, nil
}

func (a *adapter) Close() error {
	if a.ended.Err() != nil {
		a.events = append(a.events, "subscription")
	}
	a.events = append(a.events, "subscriber")
	close(a.closed)
	return nil
}

// put hands a message over and returns it, with the function that ends its context.
func (a *adapter) put(n int) (*message.Message, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	m := message.NewMessage(strconv.Itoa(n), nil)
	m.SetContext(ctx)
	a.out <- m
	return m, cancel
}

func own(t *testing.T, a *adapter) driver.Source {
	t.Helper()
	s, err := wmsource.Own(t.Context(), a, "topic")
	require.NoError(t, err)
	return s
}

func fetch(t *testing.T, s driver.Source, most int) []driver.Delivery {
	t.Helper()
	all, err := s.Fetch(t.Context(), most)
	require.NoError(t, err)
	return all
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestNothingIsAcknowledgedEarly(t *testing.T) {
	a := newAdapter(2)
	s := own(t, a)
	first, end1 := a.put(1)
	second, end2 := a.put(2)
	all := fetch(t, s, 2)
	for _, m := range []*message.Message{first, second} {
		if isClosed(m.Acked()) || isClosed(m.Nacked()) {
			t.Errorf("message %s was answered when it was fetched", m.UUID)
		}
	}
	all[1].Back()
	if isClosed(first.Acked()) || isClosed(second.Acked()) || !isClosed(second.Nacked()) {
		t.Error("Back of the second message did something else than to hand it back")
	}
	all[0].Done()
	all[0].Back() // only the first of them counts
	if !isClosed(first.Acked()) || isClosed(first.Nacked()) {
		t.Error("Done of the first message did not acknowledge it")
	}
	end1()
	end2()
	assert.NoError(t, s.Close())
}

func TestFetchTakesWhatIsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(3)
		s := own(t, a)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Fetch(ctx, 10); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("fetching nothing: %v", err)
		}
		for n := range 3 {
			_, end := a.put(n)
			defer end()
		}
		began := time.Now()
		if n := len(fetch(t, s, 2)); n != 2 {
			t.Errorf("got %d messages, want 2", n)
		}
		if n := len(fetch(t, s, 10)); n != 1 {
			t.Errorf("got %d messages, want the one in hand", n)
		}
		if time.Since(began) > 0 {
			t.Errorf("it waited for %s", time.Since(began))
		}
		assert.NoError(t, s.Close())
		if _, err := s.Fetch(t.Context(), 1); !errors.Is(err, driver.ErrEnded) {
			t.Errorf("fetching from what has ended: %v", err)
		}
	})
}

func TestCloseWaitsForAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(100)
		s := own(t, a)
		const n = 100
		for i := range n {
			m, end := a.put(i)
			go func() { // the adapter is slow to carry it out
				<-m.Acked()
				time.Sleep(time.Second)
				if isClosed(a.closed) || a.ended.Err() != nil {
					t.Errorf("closed before message %d was acknowledged", i)
				}
				end()
			}()
		}
		for _, d := range fetch(t, s, n) {
			d.Done()
		}
		assert.NoError(t, s.Close())
	})
}

func TestCloseWaitsForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(1)
		s := own(t, a)
		for i := range 5000 {
			_, end := a.put(i)
			defer end() // an adapter that never ends the context of a message
			fetch(t, s, 1)[0].Done()
		}
		began := time.Now()
		assert.NoError(t, s.Close())
		assert.Equal(t, 2*time.Second, time.Since(began), "closing took")
	})
}

func TestCloseEndsTheSubscriptionFirst(t *testing.T) {
	a := newAdapter(1)
	s := own(t, a)
	left, end := a.put(1)
	defer end()
	assert.NoError(t, s.Close())
	assert.Equal(t, []string{"subscription", "subscriber"}, a.events, "ended")
	assert.True(t, isClosed(left.Nacked()), "a message that was not fetched was not handed back")
}

func TestRevocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(2)
		s := own(t, a)
		_, revoke := a.put(1)
		_, end := a.put(2)
		all := fetch(t, s, 2)
		first, second := all[0].Context(), all[1].Context()
		revoke()
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(first), driver.ErrRevoked, "a message that was taken back: its context")
		assert.NoError(t, s.Close())
		end()
		synctest.Wait()
		assert.NoError(t, second.Err(), "closing ended the context of a message in hand")
		all[1].Back()
	})
}

// beginner counts the calls of Begin.
type beginner struct {
	*adapter
	begun int
}

func (b *beginner) Begin() { b.begun++ }

func TestBeginner(t *testing.T) {
	b := &beginner{adapter: newAdapter(2)}
	s, err := wmsource.Own(t.Context(), b, "topic")
	if err != nil || b.begun != 0 {
		t.Fatalf("%v; it began %d times before the first Fetch", err, b.begun)
	}
	for n := range 2 {
		_, end := b.put(n)
		defer end()
		if fetch(t, s, 1); b.begun != 1 {
			t.Errorf("it began %d times", b.begun)
		}
	}
	assert.NoError(t, s.Close())
}

// broken cannot subscribe.
type broken struct {
	message.Subscriber
	closed int
}

func (*broken) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	return nil, errors.New("no")
}

func (b *broken) Close() error { b.closed++; return nil }

func TestAFailedSubscriptionClosesItsOwn(t *testing.T) {
	var b broken
	if _, err := wmsource.Own(t.Context(), &b, "topic"); err == nil || b.closed != 1 {
		t.Errorf("own: %v, closed %d times", err, b.closed)
	}
}
