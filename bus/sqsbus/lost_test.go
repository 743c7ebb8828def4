package sqsbus_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// attempts is how often the AWS client sends a request.
const attempts = 3

// loser is a proxy that breaks off answers with messages.
type loser struct {
	*httptest.Server
	left atomic.Int64  // how many answers are still to be lost
	hold atomic.Bool   // requests that publish get no answer
	lost chan struct{} // closed when all are
}

func startLoser(t *testing.T, answers int64) *loser {
	t.Helper()
	target := servicetest.SQS(t)
	transport := &http.Transport{}
	l := &loser{lost: make(chan struct{})}
	l.left.Store(answers)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.hold.Load() && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".SendMessageBatch") {
			io.Copy(io.Discard, r.Body) //nolint:errcheck // so that the end of the client is noticed
			<-r.Context().Done()
			return
		}
		out, err := http.NewRequestWithContext(r.Context(), r.Method, target+r.URL.String(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		out.Header, out.ContentLength = r.Header, r.ContentLength
		answer, err := transport.RoundTrip(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
			return
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ReceiveMessage") && bytes.Contains(body, []byte("ReceiptHandle")) {
			if n := l.left.Add(-1); n >= 0 {
				if n == 0 {
					close(l.lost)
				}
				panic(http.ErrAbortHandler)
			}
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		w.Write(body) //nolint:errcheck // the client sees what is missing
	}))
	t.Cleanup(func() {
		l.Close()
		transport.CloseIdleConnections()
	})
	return l
}

// through is the place's URL by way of the loser. Messages that were given and not deleted
// are delivered again after ten minutes at the earliest.
func (l *loser) through(t *testing.T, p place) string {
	return strings.Replace(p.url, url.QueryEscape(servicetest.SQS(t)), url.QueryEscape(l.URL), 1) + "&visibility=10m"
}

// A request whose answer is lost, for the client too, is sent again, and returns its messages.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	l := startLoser(t, attempts+1)
	b := open(t, sqsbus.Config{}, l.through(t, p))
	publish(t, b, "topic", keyed("k", "1"), keyed("k", "2"))
	ch, _ := subscribe(t, b, "group", "topic", 10)
	for _, want := range []string{"1", "2"} {
		m := receive(t, ch)
		if string(m.Payload) != want {
			t.Errorf("got %s, want %s", m.Payload, want)
		}
		m.Ack()
	}
	if left := l.left.Load(); left > 0 {
		t.Errorf("%d answers were to be lost yet", left)
	}
}

// A server that does not answer blocks Publish until the message's context ends, and no longer.
func TestDeadlineEndsPublish(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	l := startLoser(t, 0)
	b := open(t, sqsbus.Config{}, l.through(t, p))
	publish(t, b, "topic", keyed("k", "1"))
	l.hold.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	m := keyed("k", "2")
	m.SetContext(ctx)
	assert.ErrorIs(t, b.Publisher().Publish("topic", m), context.DeadlineExceeded, "with a deadline of 300 ms")
}

// Close hands back the messages of an answer that never arrived.
func TestLostAnswerIsHandedBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	l := startLoser(t, attempts)
	mine := open(t, sqsbus.Config{}, l.through(t, p))
	publish(t, mine, "topic", keyed("k", "1"))
	_, sub := subscribe(t, mine, "group", "topic", 10)
	<-l.lost
	require.NoError(t, sub.Close())
	ch, _ := subscribe(t, open(t, sqsbus.Config{}, p.url), "group", "topic", 10)
	m := receive(t, ch)
	if string(m.Payload) != "1" {
		t.Errorf("got %s", m.Payload)
	}
	m.Ack()
}
