package allbus_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// The Kafka client's metrics have a goroutine for the process that never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// urls has a URL for every scheme, or the reason why none is opened here.
func urls() map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"mem":      func(*testing.T) string { return "mem://" },
		"sqlite":   func(t *testing.T) string { return "sqlite://" + filepath.Join(t.TempDir(), "bus.db") },
		"postgres": func(t *testing.T) string { return servicetest.PostgresURL(t) },
		"postgresql": func(t *testing.T) string {
			_, rest, _ := strings.Cut(servicetest.PostgresURL(t), "://")
			return "postgresql://" + rest
		},
		"mysql": func(t *testing.T) string { return servicetest.MariaDBURL(t) },
		"redis": func(t *testing.T) string { return servicetest.Redis(t) + "?prefix=allbus-" + uuid.NewString() },
		"kafka": func(t *testing.T) string { return "kafka://" + servicetest.Kafka(t) },
		"amqp":  func(t *testing.T) string { return servicetest.RabbitMQ(t) + "?exchange=allbus-" + uuid.NewString() },
		"sqs":   func(t *testing.T) string { return "sqs://key:secret@elasticmq/?endpoint=" + servicetest.SQS(t) },
		// The same packages over TLS; their own tests have servers with certificates.
		"rediss": nil,
		"amqps":  nil,
	}
}

func TestSchemes(t *testing.T) {
	o := allbus.NewOpener(allbus.Config{})
	want := []string{"amqp", "amqps", "kafka", "mem", "mysql", "postgres", "postgresql", "redis", "rediss", "sqlite", "sqs"}
	if got := o.Schemes(); !slices.Equal(got, want) {
		t.Errorf("schemes %v", got)
	}
	for _, name := range o.Schemes() {
		if _, ok := urls()[name]; !ok {
			t.Errorf("%s is not tested", name)
		}
	}
	if _, err := o.Open(t.Context(), "gopher://hole"); !errors.Is(err, bus.ErrUnknownScheme) {
		t.Errorf("got %v, want ErrUnknownScheme", err)
	}
}

func TestEachSchemeDelivers(t *testing.T) {
	for name, url := range urls() {
		if url == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b, err := allbus.NewOpener(allbus.Config{}).Open(t.Context(), url(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}()
			if b.Name() != name {
				t.Errorf("Name is %q", b.Name())
			}
			topic := "t-" + uuid.NewString()
			if err := b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{"g"}}); err != nil {
				t.Fatal(err)
			}
			sub, err := b.Subscriber("g", bus.SubscriberConfig{})
			if err != nil {
				t.Fatal(err)
			}
			ch, err := sub.Subscribe(context.Background(), topic)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Publisher().Publish(topic, message.NewMessage(uuid.NewString(), []byte("hello"))); err != nil {
				t.Fatal(err)
			}
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

func ExampleNewOpener() {
	o := allbus.NewOpener(allbus.Config{})
	fmt.Println(o.Schemes())
	b, err := o.Open(context.Background(), "mem://")
	if err != nil {
		panic(err)
	}
	defer b.Close()
	fmt.Println(b.Name())
	// Output:
	// [amqp amqps kafka mem mysql postgres postgresql redis rediss sqlite sqs]
	// mem
}
