package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) {
	// One for the process, which Sarama's metrics start and never end.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

const (
	approve = "4242424242424242"
	decline = "4000000000000002"
	timeout = "4000000000000341"
)

// quick is a gateway without simulated latency.
func quick() gateway.Config {
	return gateway.Config{MaxLatency: -1, SettleAfter: 700 * time.Millisecond}
}

// process is a running App.
type process struct {
	t    *testing.T
	app  *App
	http *http.Client
	out  *bytes.Buffer
	stop func() error
}

func settings(t *testing.T, args ...string) config.Config {
	t.Helper()
	cfg, err := config.Parse(append([]string{"--addr", "127.0.0.1:0"}, args...), func(string) string { return "" }, Schemes(), io.Discard)
	require.NoError(t, err)
	return cfg
}

// start runs a process until stop is called or the test ends.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startWith(t, quick(), args...)
}

// startWith is start with a simulated gateway of its own kind.
func startWith(t *testing.T, bank gateway.Config, args ...string) *process {
	t.Helper()
	return startAs(t, Options{Gateway: bank}, args...)
}

// ready waits until the process is ready: it answers before the last of its consumers
// has started.
func (p *process) ready() {
	p.t.Helper()
	var answer string
	boxtest.WaitFor(p.t, "readiness", func() bool {
		res, err := p.http.Get(p.app.URL() + "/readyz")
		if err != nil {
			p.t.Fatal(err)
		}
		answer = res.Status + " " + readAll(p.t, res)
		return res.StatusCode == http.StatusOK
	}, func() string { return answer })
}

// onServer finds the URL of a server among arguments.
var onServer = regexp.MustCompile(`^(postgres|mysql|redis|kafka|amqp|sqs|dynamodb)://`)

// startAs is start with options. A process that needs no server is one of make test.
func startAs(t *testing.T, opt Options, args ...string) *process {
	t.Helper()
	if !slices.ContainsFunc(args, onServer.MatchString) {
		servicetest.Embedded(t)
	}
	out := &bytes.Buffer{}
	cfg := settings(t, args...)
	if file := filepath.Join(cfg.DataDir, "boxoffice.db"); !exists(file) {
		boxtest.Copy(t, file) // a first start, only quicker
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	opt.Out, opt.GatewayTimeout = out, 300*time.Millisecond
	a, err := New(cfg, opt)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	p := &process{t: t, app: a, out: out, http: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}}
	p.stop = sync.OnceValue(func() error {
		p.http.CloseIdleConnections()
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		assert.NoError(t, p.stop(), "the process ended with")
	})
	select {
	case <-a.Ready():
	case err := <-done:
		done <- err
		t.Fatalf("the process did not start: %v", err)
	}
	return p
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// bank is a gateway of its own, which outlives the processes of the box office.
func bank(t *testing.T) (url string) {
	t.Helper()
	cfg := quick()
	cfg.Path = filepath.Join(t.TempDir(), "ledger.db")
	g, err := gateway.New(cfg)
	require.NoError(t, err)
	server := httptest.NewServer(g.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) }) //nolint:errcheck // returns nil
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
		assert.NoError(t, g.Close())
	})
	return server.URL
}

type fan struct {
	p            *process
	member       string
	token, entry string
	pass         string // of the front gate
	inLine       string // the ticket of the place in line
	request      string // the id of the next requests
}

func (p *process) fan(member string) *fan {
	p.t.Helper()
	f := &fan{p: p, member: member}
	var login struct{ Token string }
	f.call(http.MethodPost, "/api/login", "", map[string]string{"memberId": member}, 200, &login)
	f.token = login.Token
	var place struct{ EntryToken string }
	f.call(http.MethodPost, "/api/queue/check/show-1", "", nil, 200, &place)
	f.entry = place.EntryToken
	return f
}

// call makes a request and wants a status.
func (f *fan) call(method, path, key string, body any, want int, into any) {
	f.p.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		f.p.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(f.p.t.Context(), method, f.p.app.URL()+path, bytes.NewReader(text))
	if err != nil {
		f.p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	if f.entry != "" {
		r.Header.Set("x-queue-entry-token", f.entry)
	}
	for name, value := range map[string]string{"x-vwr-token": f.pass, "x-queue-ticket": f.inLine, "X-Request-Id": f.request} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	res, err := f.p.http.Do(r)
	if err != nil {
		f.p.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		f.p.t.Fatal(err)
	}
	if res.StatusCode != want {
		f.p.t.Fatalf("%s %s: %d %s, want %d", method, path, res.StatusCode, answer, want)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			f.p.t.Fatal(err)
		}
	}
}

type ticket struct {
	ReservationID, Status, Reason string
	Amount                        int64
}

type paid struct{ PaymentID, TransferID, Status, FailureReason, Refund, RefundReason string }

func (f *fan) hold(seats ...string) ticket {
	f.p.t.Helper()
	var held ticket
	f.call(http.MethodPost, "/api/seats/reserve", "", map[string]any{"eventId": "show-1", "seatIds": seats}, 201, &held)
	return held
}

func (f *fan) pay(held ticket, card string) string {
	f.p.t.Helper()
	var p paid
	f.call(http.MethodPost, "/api/payments", "key-"+held.ReservationID, map[string]any{"reservationId": held.ReservationID, "amount": held.Amount, "card": card}, 202, &p)
	return p.PaymentID
}

func (f *fan) ticket(id string) (x ticket) {
	f.p.t.Helper()
	f.call(http.MethodGet, "/api/reservations/"+id, "", nil, 200, &x)
	return x
}

// code is the code of a ticket's only seat.
func (f *fan) code(reservation string) string {
	f.p.t.Helper()
	var mine struct{ Codes []struct{ Code string } }
	f.call(http.MethodGet, "/api/me/tickets/"+reservation+"/codes", "", nil, 200, &mine)
	if len(mine.Codes) != 1 {
		f.p.t.Fatalf("%d codes", len(mine.Codes))
	}
	return mine.Codes[0].Code
}

// scan is the result of a scan of a code at the entrance.
func (p *process) scan(code, key string) string {
	p.t.Helper()
	var found struct{ Status string }
	(&fan{p: p, token: p.app.AdminToken()}).call(http.MethodPost, "/api/admin/scan", key, map[string]string{"eventId": "show-1", "code": code}, 200, &found)
	return found.Status
}

func (f *fan) payment(id string) (x paid) {
	f.p.t.Helper()
	f.call(http.MethodGet, "/api/payments/"+id, "", nil, 200, &x)
	return x
}

func (f *fan) seat(id string) string {
	f.p.t.Helper()
	var plan struct{ Seats []struct{ ID, Status string } }
	f.call(http.MethodGet, "/api/seats/show-1", "", nil, 200, &plan)
	for _, s := range plan.Seats {
		if s.ID == id {
			return s.Status
		}
	}
	return "missing"
}

// await asks until the ticket, its payment and a seat are as wanted.
func (f *fan) await(id, payment, seat, want string) {
	f.p.t.Helper()
	var got string
	boxtest.WaitFor(f.p.t, "ticket, payment and seat to be "+want, func() bool {
		t, p := f.ticket(id), paid{}
		if payment != "" {
			p = f.payment(payment)
		}
		got = fmt.Sprintf("%s %s, %s %s, %s", t.Status, t.Reason, p.Status, p.RefundReason, f.seat(seat))
		return got == want
	}, func() string { return got })
}

// audit asks for the invariants as an operator does.
func (p *process) audit() (a ops.Audit) {
	p.t.Helper()
	(&fan{p: p, token: p.app.AdminToken()}).call(http.MethodGet, "/api/admin/invariants", "", nil, 200, &a)
	return a
}

// rest waits until nothing moves and returns that audit.
func (p *process) rest() (a ops.Audit) {
	p.t.Helper()
	boxtest.WaitFor(p.t, "rest", func() bool { a = p.audit(); return a.Quiescent }, func() string { return fmt.Sprintf("%+v", a) })
	return a
}

// sound waits until nothing moves and wants every invariant to hold.
func (p *process) sound() {
	p.t.Helper()
	if a := p.rest(); !a.OK {
		p.t.Fatalf("%+v", a)
	}
}
