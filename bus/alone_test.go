package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// suspicious is a driver that suspects the messages whose ids begin with "alone". deaths is how
// often each was handled alone when a process died.
type suspicious struct {
	driver.Driver
	deaths map[string]int

	mu    sync.Mutex
	down  bool
	notes []string
}

func (s *suspicious) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	source, err := s.Driver.Source(ctx, topic, group, window)
	return suspiciousSource{source, s}, err
}

type suspiciousSource struct {
	driver.Source
	*suspicious
}

func (s suspiciousSource) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	all, err := s.Source.Fetch(ctx, most)
	for i, d := range all {
		all[i] = suspiciousDelivery{d, s.suspicious}
	}
	return all, err
}

func (s suspiciousSource) Close() error { return s.Source.Close() }

type suspiciousDelivery struct {
	driver.Delivery
	*suspicious
}

func (d suspiciousDelivery) Alone() bool { return strings.HasPrefix(d.Message().ID, "alone") }

func (d suspiciousDelivery) note(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return errors.New("no database")
	}
	d.notes = append(d.notes, what)
	return nil
}

func (d suspiciousDelivery) Begin(context.Context) (int, error) {
	return d.deaths[d.Message().ID], d.note("begin " + d.Message().ID)
}

func (d suspiciousDelivery) End(context.Context) error { return d.note("end " + d.Message().ID) }

// A suspected message is handled while no other message of its consumer is, with a note before
// and after. A message that was alone in two processes that died becomes a dead letter.
func TestSuspectedMessagesAreHandledAlone(t *testing.T) {
	eachKind(t, func(t *testing.T, consume func(bus.Consumer, func(*message.Message) error) bus.AnyConsumer) {
		s := &suspicious{Driver: memBus(t).Driver(), deaths: map[string]int{"alone-1#1": 1, "alone-2#1": 2}}
		b := bus.New("suspicious", s)
		var mu sync.Mutex
		var handled []string
		busy, alone := 0, 0
		handle := func(m *message.Message) error {
			mu.Lock()
			busy++
			if strings.HasPrefix(m.UUID, "alone") {
				alone++
			}
			if alone > 0 && busy > 1 {
				t.Errorf("%s is handled beside others", m.UUID)
			}
			handled = append(handled, m.UUID)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			busy--
			if strings.HasPrefix(m.UUID, "alone") {
				alone--
				s.mu.Lock()
				if n := len(s.notes); n == 0 || s.notes[n-1] != "begin "+m.UUID {
					t.Errorf("%s is handled after %v", m.UUID, s.notes)
				}
				s.mu.Unlock()
			}
			return nil
		}
		var dead []bus.Report
		for k := range 8 {
			publish(t, b, "t", keyed(fmt.Sprint("key", k), 1))
		}
		publish(t, b, "t", keyed("alone-1", 1), keyed("alone-2", 1), keyed("alone-3", 1))
		for k := range 8 {
			publish(t, b, "t", keyed(fmt.Sprint("key", k), 2))
		}
		r := start(t, b, bus.RunnerConfig{}, consume(bus.Consumer{
			Topic: "t", Group: "g", Concurrency: 4, Window: 100,
			Hooks: bus.Hooks{OnDeadLetter: func(d bus.Report) { dead = append(dead, d) }},
		}, handle))
		time.Sleep(time.Minute)
		r.stop(t)
		if len(handled) != 18 || slices.Contains(handled, "alone-2#1") {
			t.Errorf("handled %d: %v", len(handled), handled)
		}
		if len(dead) != 1 || dead[0].Message.UUID != "alone-2#1" || dead[0].Reason != bus.ReasonCrashed || dead[0].Class != fault.Permanent {
			t.Errorf("dead letters: %+v", dead)
		}
		want := "begin alone-1#1 end alone-1#1 begin alone-2#1 end alone-2#1 begin alone-3#1 end alone-3#1"
		assert.Equal(t, want, strings.Join(s.notes, " "), "noted")
	})
}

// Without a note a suspected message is not handled: the consumer pauses.
func TestASuspectedMessageWaitsForItsNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &suspicious{Driver: memBus(t).Driver(), down: true}
		b := bus.New("suspicious", s)
		handled := 0
		publish(t, b, "t", keyed("alone", 1))
		r := start(t, b, bus.RunnerConfig{}, bus.Consumer{Topic: "t", Group: "g", Handler: func(*message.Message) error {
			handled++
			return nil
		}})
		time.Sleep(10 * time.Second)
		if status := r.Status()[0]; !status.Paused || handled > 0 {
			t.Errorf("%d handled: %+v", handled, status)
		}
		s.mu.Lock()
		s.down = false
		s.mu.Unlock()
		time.Sleep(time.Minute)
		r.stop(t)
		assert.Equalf(t, 1, handled, "handled %d times", handled)
	})
}
