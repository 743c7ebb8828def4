package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

var errAway = fault.MarkInfrastructure(errors.New("connection refused"))

func away(context.Context, string, string) error { return errAway }

// hang is a store that does not answer.
func hang(ctx context.Context, _, _ string) error {
	<-ctx.Done()
	return fault.MarkInfrastructure(ctx.Err())
}

func TestOneOfACrowdRefreshesOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a", "b")
		check(t, room, "a", tickets["a"])
		store.count("look")
		store.count("visit")
		time.Sleep(time.Second)
		gate := make(chan struct{})
		store.fails(func(_ context.Context, call, _ string) error {
			if call == "look" {
				<-gate
			}
			return nil
		})
		// The refreshing caller waits for the store, the others take the old snapshot.
		var one sync.WaitGroup
		one.Go(func() { check(t, room, "a", tickets["a"]) })
		synctest.Wait()
		for range 11 { // also when it takes so long that the next would be due
			for range 5 {
				check(t, room, "b", tickets["b"])
			}
			time.Sleep(100 * time.Millisecond)
		}
		close(gate)
		one.Wait()
		assert.Equal(t, 1, store.count("look"), "looks at a time")
		check(t, room, "b", tickets["b"])
		store.count("look")
		time.Sleep(999 * time.Millisecond)
		check(t, room, "b", tickets["b"])
		assert.Equal(t, 0, store.count("look"), "looks before the second is over")
		time.Sleep(time.Millisecond)
		check(t, room, "b", tickets["b"])
		assert.Equal(t, 1, store.count("look"), "looks after a second")
	})
}

func TestStoreAway(t *testing.T) {
	for name, fail := range map[string]func(context.Context, string, string) error{"refuses": away, "hangs": hang} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newSpy(t)
				room := open(t, store, queue.Config{})
				tickets := fill(t, room, "a", "b")
				ctx := context.Background()
				check(t, room, "b", tickets["b"])
				asked := time.Now()
				store.fails(fail)

				refused := func(what string, err error) {
					t.Helper()
					if !errors.Is(err, queue.ErrUnavailable) || fault.Of(err) != fault.Infrastructure {
						t.Errorf("%s: %v", what, err)
					}
				}
				_, err := room.Check(ctx, "show-1", queue.Visitor{User: "new"})
				refused("a newcomer", err)
				refused("verify", room.Verify(ctx, "show-1", "inside", "1-1"))
				refused("leave", room.Leave(ctx, "show-1", "a"))
				_, err = room.Pause(ctx, "show-1")
				refused("pause", err)

				time.Sleep(100 * time.Millisecond)
				// A ticket is answered from the snapshot until that is 3 s old.
				for time.Since(asked) <= 3*time.Second {
					place, err := room.Check(ctx, "show-1", queue.Visitor{User: "b", Ticket: tickets["b"]})
					if err == nil && place.Position != 2 {
						t.Errorf("%+v", place)
					}
					if age := time.Since(asked); (err == nil) != (age <= 3*time.Second) {
						t.Errorf("after %v: %v", age, err)
					}
					time.Sleep(300 * time.Millisecond)
				}
				_, err = room.Check(ctx, "show-1", queue.Visitor{User: "b", Ticket: tickets["b"]})
				refused("by a snapshot that is too old", err)

				// The store comes back; everything recovers without any action.
				store.fails(nil)
				time.Sleep(time.Second)
				if place := check(t, room, "b", tickets["b"]); place.Position != 2 || place.Ticket != tickets["b"] {
					t.Errorf("after it came back: %+v", place)
				}
				if place := check(t, room, "new", ""); place.Position != 3 {
					t.Errorf("the newcomer after it came back: %+v", place)
				}
			})
		})
	}
}

// A crowd must not wait for one timeout after the other.
func TestWhileTheStoreHangsACrowdIsRefusedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { refusedSoon(t, queue.Config{}, 5000) })
}

// TestAProcessThatStartsWhileTheStoreHangs: no visitor waits for more than two timeouts
// while others ask for the settings and the stock in vain.
func TestAProcessThatStartsWhileTheStoreHangs(t *testing.T) {
	for name, cfg := range map[string]queue.Config{
		"settings": {Settings: &shelf{}},
		"stock":    {Stock: (&house{seats: 5}).left},
		"both":     {Settings: &shelf{}, Stock: (&house{seats: 5}).left},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { refusedSoon(t, cfg, 100) })
		})
	}
}

// refusedSoon sends a crowd to a room whose store hangs.
func refusedSoon(t *testing.T, cfg queue.Config, visitors int) {
	t.Helper()
	store := newSpy(t)
	store.fails(hang)
	room := open(t, store, cfg)
	var all sync.WaitGroup
	start := time.Now()
	for i := range visitors {
		all.Go(func() {
			_, err := room.Check(context.Background(), "show-1", queue.Visitor{User: fmt.Sprint(i)})
			assert.ErrorIsf(t, err, queue.ErrUnavailable, "%d", i)
		})
	}
	all.Wait()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("a crowd of %d was refused after %v, with a timeout of 1 s", visitors, took)
	}
}

func TestAPermanentFailureStaysPermanent(t *testing.T) {
	store := newSpy(t)
	store.fails(func(context.Context, string, string) error {
		return fault.MarkPermanent(errors.New("WRONGTYPE"))
	})
	room := open(t, store, queue.Config{})
	_, err := room.Check(context.Background(), "show-1", queue.Visitor{User: "a"})
	if !errors.Is(err, queue.ErrUnavailable) || fault.Of(err) != fault.Permanent {
		t.Errorf("%v is %v", err, fault.Of(err))
	}
}

func TestACallerWhoLeavesIsNotTheStoresFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		gate := make(chan struct{})
		store.fails(func(context.Context, string, string) error { <-gate; return nil })
		room := open(t, store, queue.Config{})
		var first sync.WaitGroup
		first.Go(func() { check(t, room, "a", "") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, err := room.Check(ctx, "show-1", queue.Visitor{User: "b"})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, queue.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		close(gate)
		first.Wait()
		if place := check(t, room, "c", ""); place.Status != queue.Active {
			t.Errorf("c: %+v", place)
		}
	})
}

// broken answers with fewer outcomes than visits.
type broken struct{ *spy }

func (b broken) Visit(context.Context, string, driver.Rules, driver.Beats, []driver.Visit) (driver.Visited, error) {
	return driver.Visited{}, nil
}

func TestNonsenseLetsNobodyIn(t *testing.T) {
	store := newSpy(t)
	room := open(t, broken{store}, queue.Config{})
	if place, err := room.Check(context.Background(), "show-1", queue.Visitor{User: "a"}); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("%+v, %v", place, err)
	}
	store.fails(func(context.Context, string, string) error { panic("broken") })
	room = open(t, store, queue.Config{})
	if place, err := room.Check(context.Background(), "show-1", queue.Visitor{User: "a"}); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("a panic: %+v, %v", place, err)
	}
}

func TestAPanicIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSpy(t)
		room := open(t, store, queue.Config{})
		tickets := fill(t, room, "a")
		store.fails(func(context.Context, string, string) error { panic("broken") })
		ctx := context.Background()
		if place, err := room.Check(ctx, "show-1", queue.Visitor{User: "a", Ticket: tickets["a"]}); !errors.Is(err, queue.ErrUnavailable) {
			t.Errorf("%+v, %v", place, err)
		}
		if state, err := room.State(ctx, "show-1"); !errors.Is(err, queue.ErrUnavailable) {
			t.Errorf("%+v, %v", state, err)
		}
		store.fails(nil)
		time.Sleep(time.Second)
		store.count("visit")
		if place := check(t, room, "a", tickets["a"]); place.Position != 1 || store.count("look") == 0 {
			t.Errorf("afterwards: %+v", place)
		}
		if n := room.Stats().Panics; n < 2 {
			t.Errorf("%d panics counted", n)
		}
	})
}
