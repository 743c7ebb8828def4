package allbus_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// urls has one URL for every scheme.
func urls(t *testing.T) map[string]string {
	return map[string]string{
		"mem":    "mem://",
		"sqlite": "sqlite://" + filepath.Join(t.TempDir(), "bus.db"),
	}
}

func TestSchemes(t *testing.T) {
	o := allbus.NewOpener(allbus.Config{})
	if got := o.Schemes(); !slices.Equal(got, []string{"mem", "sqlite"}) {
		t.Errorf("schemes %v", got)
	}
	for _, name := range o.Schemes() {
		if urls(t)[name] == "" {
			t.Errorf("%s is not tested", name)
		}
	}
	if _, err := o.Open(t.Context(), "gopher://hole"); !errors.Is(err, bus.ErrUnknownScheme) {
		t.Errorf("got %v, want ErrUnknownScheme", err)
	}
}

func TestEachSchemeDelivers(t *testing.T) {
	for name, url := range urls(t) {
		t.Run(name, func(t *testing.T) {
			b, err := allbus.NewOpener(allbus.Config{}).Open(t.Context(), url)
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
			if err := b.Publisher().Publish("t", message.NewMessage("1", []byte("hello"))); err != nil {
				t.Fatal(err)
			}
			sub, err := b.Subscriber("g", bus.SubscriberConfig{})
			if err != nil {
				t.Fatal(err)
			}
			ch, err := sub.Subscribe(context.Background(), "t")
			if err != nil {
				t.Fatal(err)
			}
			m := <-ch
			if string(m.Payload) != "hello" {
				t.Errorf("got %q", m.Payload)
			}
			m.Ack()
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
	// [mem sqlite]
	// mem
}
