package allbus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// The Kafka client's metrics have a process-wide goroutine that never ends.
func TestMain(m *testing.M) {
	if given := os.Getenv(envMember); given != "" {
		if err := beMember(given); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

const group = "g"

// urls has a URL for every scheme and one topic, or the reason why none is opened here. Objects
// created on a server are removed with the test.
func urls() map[string]func(t *testing.T, topic string) string {
	return map[string]func(t *testing.T, topic string) string{
		"mem": func(t *testing.T, _ string) string {
			servicetest.Embedded(t)
			return "mem://"
		},
		"sqlite": func(t *testing.T, _ string) string {
			servicetest.Embedded(t)
			return "sqlite://" + filepath.Join(t.TempDir(), "bus.db")
		},
		"postgres": func(t *testing.T, _ string) string { return servicetest.PostgresURL(t) },
		"postgresql": func(t *testing.T, _ string) string {
			_, rest, _ := strings.Cut(servicetest.PostgresURL(t), "://")
			return "postgresql://" + rest
		},
		"mysql": func(t *testing.T, _ string) string { return servicetest.MySQLURL(t) }, // mysqlbus runs on MariaDB too
		"redis": func(t *testing.T, _ string) string { return transporttest.Redis(t) },
		"kafka": func(t *testing.T, topic string) string { return transporttest.Kafka(t, topic) },
		"amqp": func(t *testing.T, topic string) string {
			return transporttest.RabbitMQ(t, topic+":"+group+":0") + "&partitions=1"
		},
		"nats": func(t *testing.T, _ string) string { return natstest.URL(t) },
		"sqs":  func(t *testing.T, _ string) string { return transporttest.SQS(t) },
		"sns":  func(t *testing.T, _ string) string { return transporttest.SNS(t) },
		// The same packages over TLS; their own tests have servers with certificates.
		"rediss": nil,
		"tls":    nil,
		"amqps":  nil,
	}
}

// names lists the schemes of URLs, sorted.
func names() (all []string) {
	for _, s := range allbus.Schemes(allbus.Config{}) {
		all = append(all, s.Names()...)
	}
	slices.Sort(all)
	return all
}

func TestSchemes(t *testing.T) {
	want := []string{"amqp", "amqps", "kafka", "mem", "mysql", "nats", "postgres", "postgresql", "redis", "rediss", "sns", "sqlite", "sqs", "tls"}
	got := names()
	if !slices.Equal(got, want) {
		t.Errorf("schemes %v", got)
	}
	for _, name := range got {
		if _, ok := urls()[name]; !ok {
			t.Errorf("%s is not tested", name)
		}
	}
	if _, err := bus.Open(t.Context(), "gopher://hole", allbus.Schemes(allbus.Config{})...); !errors.Is(err, bus.ErrUnknownScheme) {
		t.Errorf("got %v, want ErrUnknownScheme", err)
	}
}

func TestEachSchemeDelivers(t *testing.T) {
	for name, url := range urls() {
		if url == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			topic := "t-" + uuid.NewString()
			b, err := bus.Open(t.Context(), url(t, topic), allbus.Schemes(allbus.Config{})...)
			require.NoError(t, err)
			defer func() {
				assert.NoError(t, b.Close())
			}()
			assert.Equal(t, name, b.Name(), "Name")
			require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
			sub, err := b.Subscriber(group, bus.SubscriberConfig{})
			require.NoError(t, err)
			ch, err := sub.Subscribe(context.Background(), topic)
			require.NoError(t, err)
			require.NoError(t, b.Publisher().Publish(topic, message.NewMessage(uuid.NewString(), []byte("hello"))))
			select {
			case m := <-ch:
				if string(m.Payload) != "hello" {
					t.Errorf("got %q", m.Payload)
				}
				m.Ack()
			case <-time.After(30 * time.Second):
				t.Fatal("no message within 30s")
			}
		})
	}
}

func ExampleSchemes() {
	b, err := bus.Open(context.Background(), "mem://", allbus.Schemes(allbus.Config{})...)
	if err != nil {
		panic(err)
	}
	defer b.Close()
	fmt.Println(b.Name())
	// Output: mem
}

// Each mode is opened by its URL, and its capabilities show that it is Watermill's adapter.
func TestModes(t *testing.T) {
	for _, url := range []string{"kafka://h/?mode=watermill", "amqp://h/?mode=watermill", "amqps://h/?mode=watermill", "redis://h/?mode=watermill", "rediss://h/?mode=watermill"} {
		b, err := bus.Open(t.Context(), url, allbus.Schemes(allbus.Config{})...)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		assert.Truef(t, b.Capabilities().OneAtATime, "%s is not Watermill's adapter", url)
		assert.NoErrorf(t, b.Close(), "%s: close", url)
	}
}
