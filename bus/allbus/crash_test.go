package allbus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

// A message that kills its process becomes a dead letter after a few deaths, and the others are
// handled in order.
func TestAMessageThatKillsItsProcess(t *testing.T) {
	counting := []string{"sqlite", "postgres", "mysql", "redis", "kafka", "nats"}
	for _, on := range drilled {
		if !slices.Contains(counting, on.name) {
			continue
		}
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			topic := "t-" + uuid.NewString()
			url := on.url(t, topic)
			b, err := openAs(t.Context(), url, "")
			require.NoError(t, err)
			defer func() {
				assert.NoError(t, b.Close())
			}()
			const reader = "reader"
			err = b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}, bus.Topic{Name: topic + ".DLT", Groups: []string{reader}})
			require.NoError(t, err)
			const keys, each = 6, 8
			publish := func(payload, key string) {
				t.Helper()
				m := message.NewMessage(uuid.NewString(), []byte(payload))
				m.Metadata.Set(event.KeyHeader, key)
				require.NoError(t, b.Publisher().Publish(topic, m))
			}
			for n := 1; n <= each; n++ {
				for k := range keys {
					publish(fmt.Sprintf("key%d %d", k, n), fmt.Sprint("key", k))
				}
				if n == 3 {
					publish("poison", "key1")
				}
			}
			// It restarts under the same name.
			told := membership{URL: url, Topic: topic, Ledger: newLedger(t), Holder: "pod-1", Concurrency: 4, Window: 64}
			letters := make(chan *message.Message, 10)
			r, err := bus.NewRunner(b, bus.RunnerConfig{})
			if err == nil {
				err = r.Add(bus.Consumer{Topic: topic + ".DLT", Group: reader, Handler: func(m *message.Message) error {
					letters <- m
					return nil
				}})
			}
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			defer func() {
				stop()
				assert.NoError(t, <-ended)
			}()

			const most = 10
			deaths := 0
			for ; deaths <= most; deaths++ {
				p := told.start(t)
				select {
				case <-p.gone:
					if p.cmd.ProcessState.ExitCode() != poisoned {
						t.Fatalf("the process ended with %v", p.err)
					}
					continue
				case m := <-letters:
					if m.Metadata[driver.DLQReason] != bus.ReasonCrashed || string(m.Payload) != "poison" {
						t.Errorf("the dead letter is %s: %v", m.Payload, m.Metadata)
					}
				case <-time.After(time.Minute):
					t.Fatal("neither a death nor a dead letter within a minute")
				}
				until(t, time.Minute, "the healthy messages are handled", func() bool {
					handled, _ := tally(t, told.Ledger)
					return handled == keys*each
				})
				p.kill()
				break
			}
			// Two starts without progress and two deaths alone, and more where a start got as
			// far as the poison.
			if deaths < 4 || deaths > 7 {
				t.Errorf("%d processes died, want 4 to 7", deaths)
			}
			t.Logf("%d processes died", deaths)
		})
	}
}
