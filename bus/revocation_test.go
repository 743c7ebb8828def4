package bus_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/wmsource"
)

// feedDriver is a driver whose subscriber the test feeds by hand.
type feedDriver struct {
	driver.Driver
	source message.Subscriber
}

func (d feedDriver) Source(ctx context.Context, topic, _ string, _ int) (driver.Source, error) {
	return wmsource.Own(ctx, d.source, topic)
}

// If the transport takes a probe back, the probe has no result: the pause goes on, and another
// message probes.
func TestARevokedProbeDoesNotEndAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFeed(), newJournal()
		b := bus.New("feed", feedDriver{memBus(t).Driver(), f})
		lease, revoke := context.WithCancel(context.Background())
		var down atomic.Bool
		down.Store(true)
		tries := 0
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "t", Group: "g", Concurrency: 1, Retry: probing,
			Handler: func(m *message.Message) error {
				if tries++; tries == 2 { // the probe
					<-m.Context().Done()
					return m.Context().Err()
				}
				if down.Load() {
					return errDown
				}
				return nil
			},
		}))
		leased := keyed("leased", 1)
		leased.SetContext(lease)
		f.put(keyed("first", 1), leased)
		time.Sleep(1500 * time.Millisecond)
		revoke()
		synctest.Wait()
		if s := r.Status()[0]; !s.Paused {
			t.Errorf("status %+v, want paused", s)
		}
		time.Sleep(time.Second)
		down.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		r.cancel()
		f.end()
		<-r.done
		j.expect(t,
			"0s try first#1", "0s pause, probe in 1s: connection refused",
			"1s try leased#1", // taken back at 1.5 s
			"1.5s try first#1", "1.5s retry first#1 attempt 0 in 2s infrastructure: connection refused",
			"3.5s try first#1", "3.5s recovered first#1 after 3", "3.5s resume after 3.5s")
	})
}

// slowClose is a driver whose sources commit a second after Close.
type slowClose struct {
	driver.Driver
	committed *time.Time
}

func (d slowClose) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	source, err := d.Driver.Source(ctx, topic, group, window)
	return slowCloseSource{source, d}, err
}

type slowCloseSource struct {
	driver.Source
	driver slowClose
}

func (s slowCloseSource) Close() error {
	err := s.Source.Close()
	time.Sleep(time.Second)
	*s.driver.committed = time.Now()
	return err
}

func TestContextsLiveUntilTheTransportHasCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var committed, cancelled time.Time
		b := bus.New("slow", slowClose{memBus(t).Driver(), &committed})
		r := start(t, b, bus.RunnerConfig{DrainTimeout: time.Second}, bus.Consumer{
			Topic: "t", Group: "g", Handler: func(m *message.Message) error {
				<-m.Context().Done()
				cancelled = time.Now()
				assert.ErrorIs(t, context.Cause(m.Context()), bus.ErrDrainTimeout, "the context ended with")
				return nil
			},
		})
		publish(t, b, "t", keyed("k", 1))
		synctest.Wait()
		r.stop(t)
		if committed.IsZero() || cancelled.Before(committed) {
			t.Errorf("cancelled at %s, committed at %s", cancelled, committed)
		}
	})
}
