package app

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
)

// output is the log of a process.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// TestNothingSecretIsLogged runs a process through its work and its failures, with
// all log levels, and searches the log for secrets.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	const text = "payload-text-of-ann"
	var out output
	secrets := []string{text, approve, decline, "secret-that-signs-the-sign-ins", "admin-token-of-this-test", "password-of-redis", "guessed-token"}
	p := startAs(t, Options{Gateway: quick(), Logger: slog.New(eventlog.NewHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.Level(-1000)})))},
		"--data-dir", t.TempDir(), "--secret", "secret-that-signs-the-sign-ins-of-members", "--admin-token", "admin-token-of-this-test",
		"--redis-url", "redis://user:password-of-redis@127.0.0.1:1/0", "--traces-url", "http://127.0.0.1:1")
	ann := p.visitor("ann")
	secrets = append(secrets, ann.token)
	ann.call(http.MethodPost, "/api/queue/check/show-1", "", nil, 503, nil) // without Redis
	ann.call(http.MethodPost, "/api/rooms/show-1/join", "", nil, 204, nil)
	ann.call(http.MethodPost, "/api/rooms/show-1/messages", "", map[string]string{"text": text}, 202, nil)
	ann.call(http.MethodPost, "/api/shows/show-1/comments", "", map[string]string{"text": text}, 201, nil)
	ann.call(http.MethodPost, "/api/memberships", "key-of-ann", map[string]any{"amount": 30000, "card": decline}, 202, nil)
	var ticket struct{ Ticket string }
	ann.call(http.MethodPost, "/api/notifications/ticket", "", nil, 200, &ticket)
	secrets = append(secrets, ticket.Ticket)
	ann.call(http.MethodGet, live.Path+"?ticket=guessed-token", "", nil, 503, nil) // without Redis
	(&fan{p: p, token: "guessed-token"}).call(http.MethodGet, "/api/me/tickets", "", nil, 401, nil)
	(&fan{p: p, token: "guessed-token"}).call(http.MethodGet, "/api/admin/ops", "", nil, 403, nil)

	// Dead letters of each kind: no event at all, and one whose data is another.
	e, err := event.New("PaymentSuccess", "/test", map[string]any{"paymentId": 1, "paymentKey": text})
	require.NoError(t, err)
	e.AggregateType, e.AggregateID, e.CorrelationID = "payment", "p-1", "request-of-ann"
	wrong, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	require.NoError(t, p.app.office.bus.Publisher().Publish("payment.events", wrong, message.NewMessage("no-event", []byte(text))))
	boxtest.WaitFor(t, "the lines about dead letters", func() bool {
		said := out.String()
		return strings.Contains(said, "event_id="+e.ID+" correlation_id=request-of-ann") && strings.Contains(said, "event_id=no-event")
	}, out.String)
	require.NoError(t, p.stop())
	said := out.String()
	for _, secret := range secrets {
		if i := strings.Index(said, secret); i >= 0 {
			t.Errorf("%q was logged: %s", secret, said[strings.LastIndexByte(said[:i], '\n')+1:][:200])
		}
	}
	for _, line := range []string{"became a dead letter", "spans cannot be sent", "ending: finishing"} {
		assert.Contains(t, said, line, "was not logged")
	}
}
