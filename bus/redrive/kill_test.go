package redrive_test

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

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// mortal is a driver for a process that is killed after a number of steps: a step is a publish
// or an acknowledgement. After the last step, nothing from the process reaches the transport.
type mortal struct {
	driver.Driver
	left   *atomic.Int64
	prompt bool // acknowledgements count at once, not at Close
}

var errKilled = errors.New("killed")

func (m mortal) alive() bool { return m.left.Add(-1) >= 0 }

func (m mortal) Lag(ctx context.Context) ([]bus.Lag, error) { return m.Driver.(driver.Lagger).Lag(ctx) }

func (m mortal) Publisher() message.Publisher { return mortalPublisher{m.Driver.Publisher(), m} }

type mortalPublisher struct {
	message.Publisher
	mortal
}

// Publish reaches the transport with a part of the messages when the process dies during the
// call, as a publisher without transactions may.
func (p mortalPublisher) Publish(topic string, messages ...*message.Message) error {
	for i := range messages {
		synctest.Wait() // until the earlier acknowledgements have arrived
		if !p.alive() {
			return errKilled
		}
		if err := p.Publisher.Publish(topic, messages[i]); err != nil {
			return err
		}
	}
	return nil
}
func (p mortalPublisher) Close() error { return p.Publisher.Close() }

func (m mortal) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	return sourcetest.Source(ctx, m.Driver, topic, group, window, func(s message.Subscriber) message.Subscriber {
		return &mortalSubscriber{Subscriber: s, mortal: m}
	})
}

type mortalSubscriber struct {
	message.Subscriber
	mortal
	pairs [][2]*message.Message
	done  chan struct{}
	wg    sync.WaitGroup
}

func (s *mortalSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(ctx, topic)
	out := make(chan *message.Message)
	s.done = make(chan struct{})
	s.wg.Go(func() {
		defer close(out)
		for {
			select {
			case m, ok := <-in:
				if !ok {
					return
				}
				c := m.Copy()
				s.pairs = append(s.pairs, [2]*message.Message{m, c})
				if s.prompt {
					s.wg.Go(func() { s.passOn(m, c) })
				}
				select {
				case out <- c:
				case <-s.done:
					return
				}
			case <-s.done:
				return
			}
		}
	})
	return out, err
}

func (s *mortalSubscriber) passOn(m, c *message.Message) {
	select {
	case <-c.Acked():
		if s.alive() {
			m.Ack()
		}
	case <-s.done:
	}
}

// Close passes on the acknowledgements that were made while alive, as a transport does that
// commits periodically.
func (s *mortalSubscriber) Close() error {
	synctest.Wait()
	close(s.done)
	s.wg.Wait()
	for _, pair := range s.pairs {
		select {
		case <-pair[1].Acked():
			if !s.prompt && s.alive() {
				pair[0].Ack()
			}
		default:
		}
	}
	synctest.Wait()
	return s.Subscriber.Close()
}

var (
	all      = numbers(1, 8)
	selected = []string{"3", "4", "7"}
)

// For any last step of a killed tool, every letter is redriven, or edited, or pending, and an
// unselected letter is never redriven or dropped.
func TestKilledAtAnyStepLosesNothing(t *testing.T) {
	for name, op := range map[string]func(context.Context, *redrive.Letters) error{
		"redrive all": func(ctx context.Context, l *redrive.Letters) error {
			_, err := l.Redrive(ctx, redrive.Filter{All: true}, redrive.Options{})
			return err
		},
		"redrive selected": func(ctx context.Context, l *redrive.Letters) error {
			_, err := l.Redrive(ctx, redrive.Filter{IDs: selected}, redrive.Options{})
			return err
		},
		"redrive selected slowly": func(ctx context.Context, l *redrive.Letters) error {
			_, err := l.Redrive(ctx, redrive.Filter{IDs: selected}, redrive.Options{Rate: 5})
			return err
		},
		"drop selected": func(ctx context.Context, l *redrive.Letters) error {
			_, err := l.Drop(ctx, redrive.Filter{IDs: selected}, redrive.Options{})
			return err
		},
		"edit": func(ctx context.Context, l *redrive.Letters) error {
			got, err := l.Show(ctx, "5")
			if err != nil {
				return err
			}
			return l.Edit(ctx, "5", []byte(strings.ReplaceAll(string(got.Payload), `"of":"5"`, `"of":"edited"`)))
		},
	} {
		for _, prompt := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", prompt ", prompt), func(t *testing.T) { killAtAnyStep(t, name, op, prompt) })
		}
	}
}

func killAtAnyStep(t *testing.T, name string, op func(context.Context, *redrive.Letters) error, prompt bool) {
	finished := false
	for steps := int64(0); !finished; steps++ {
		synctest.Test(t, func(t *testing.T) {
			mem := memBus(t)
			bury(t, mem, all...)
			left := new(atomic.Int64)
			left.Store(steps)
			l, err := redrive.New(bus.New("mortal", mortal{mem.Driver(), left, prompt}), dlt, redrive.Config{})
			require.NoError(t, err)
			err = op(t.Context(), l)
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			finished = left.Load() >= 0

			redriven := strings.Fields(delivered(t, mem))
			waiting := strings.Fields(pending(t, mem))
			for _, id := range all {
				chosen := name == "redrive all" || slices.Contains(selected, id) && name != "edit"
				switch {
				case !chosen && !slices.Contains(waiting, id):
					t.Errorf("killed after %d steps: %s was not chosen and is no longer pending", steps, id)
				case chosen && !slices.Contains(waiting, id) && !slices.Contains(redriven, id) && !strings.HasPrefix(name, "drop"):
					t.Errorf("killed after %d steps: %s is lost", steps, id)
				}
			}
			for _, id := range redriven {
				if name == "edit" || strings.HasPrefix(name, "drop") || name != "redrive all" && !slices.Contains(selected, id) {
					t.Errorf("killed after %d steps: %s was redriven", steps, id)
				}
			}
			// The same operation again, by a tool that is not killed.
			again, err := redrive.New(mem, dlt, redrive.Config{})
			require.NoError(t, err)
			if err := op(t.Context(), again); err != nil && !errors.Is(err, redrive.ErrNotFound) {
				t.Fatal(err)
			}
			_, err = again.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
			require.NoError(t, err)
			redriven = strings.Fields(delivered(t, mem))
			for _, id := range all {
				if !slices.Contains(redriven, id) && !(strings.HasPrefix(name, "drop") && slices.Contains(selected, id)) {
					t.Errorf("killed after %d steps and repeated: %s never came back", steps, id)
				}
			}
			if got := pending(t, mem); got != "" {
				t.Errorf("killed after %d steps and repeated: %s are still pending", steps, got)
			}
			if name == "edit" {
				last := ""
				for _, m := range received(t, mem, "orders") {
					if m.UUID == "5" {
						last = string(m.Payload)
					}
				}
				assert.Containsf(t, last, "edited", "killed after %d steps: the last of 5 is %s", steps, last)
			}
		})
		if steps > 100 {
			t.Fatalf("not finished after %d steps", steps)
		}
	}
}
