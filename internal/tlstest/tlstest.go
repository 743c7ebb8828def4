// Package tlstest is the test for every transport with TLS: it works with the right certificate,
// and otherwise the error names the mistake.
package tlstest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// patience bounds the test, on a busy machine too.
const patience = time.Minute

// Server is a server that accepts only TLS connections, from a transport's point of view.
type Server struct {
	Schemes []bus.Scheme
	Others  []bus.Scheme // for Other, if the URL does not set the trusted authority
	Address string       // the address in errors

	Trusted string // the URL that trusts the authority of the server's certificate
	Other   string // the URL that trusts another authority
	Fix     string // the setting in the error on Other
	Plain   string // the URL without TLS

	FixPlain string // the setting in the error on Plain

	Done func(driver.Driver) // removes the objects of the test; may be nil
}

// Run tests the transport.
func Run(t *testing.T, s Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s.open(t, s.Schemes, s.Trusted, func(b *bus.Bus) {
		roundTrip(ctx, t, b)
		if s.Done != nil {
			s.Done(b.Driver())
		}
	})
	others := s.Others
	if others == nil {
		others = s.Schemes
	}
	s.open(t, others, s.Other, func(b *bus.Bus) { s.refused(t, b.Ping(ctx), s.Fix) })
	s.open(t, s.Schemes, s.Plain, func(b *bus.Bus) { s.refused(t, b.Ping(ctx), s.FixPlain) })
}

// open opens a URL while a function runs.
func (s Server) open(t *testing.T, schemes []bus.Scheme, url string, while func(*bus.Bus)) {
	t.Helper()
	b, err := bus.Open(t.Context(), url, schemes...)
	if err != nil {
		t.Fatal(err)
	}
	while(b)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// refused checks an error: it is an outage, which creates no dead letters, and it names the
// server and the setting to correct.
func (s Server) refused(t *testing.T, err error, fix string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("the connection was accepted; want an error that says %q", fix)
	case !strings.Contains(err.Error(), s.Address), !strings.Contains(err.Error(), fix), fault.Of(err) != fault.Infrastructure:
		t.Errorf("%v (%v); want an outage that names %s and says %q", err, fault.Of(err), s.Address, fix)
	default:
		t.Log(err)
	}
}

// roundTrip publishes a message and consumes it.
func roundTrip(ctx context.Context, t *testing.T, b *bus.Bus) {
	t.Helper()
	topic, group := "tls-"+uuid.NewString(), "tls-"+uuid.NewString()
	if err := b.Declare(ctx, bus.Topic{Name: topic, Groups: []string{group}}); err != nil {
		t.Fatal(err)
	}
	sub := sourcetest.Subscriber(b.Driver(), group, 1)
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	m := message.NewMessageWithContext(ctx, uuid.NewString(), []byte("sealed"))
	m.Metadata.Set(event.KeyHeader, "key")
	if err := b.Publisher().Publish(topic, m); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-messages:
		if got == nil || string(got.Payload) != "sealed" {
			t.Fatalf("got %v", got)
		}
		got.Ack()
	case <-ctx.Done():
		t.Error("the message did not come")
	}
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
}
