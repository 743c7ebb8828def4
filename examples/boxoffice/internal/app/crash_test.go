package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// split starts a process with a part of the roles on a shared folder.
func split(t *testing.T, dir, bank, roles string) *process {
	t.Helper()
	return start(t, "--data-dir", dir, "--db-url", "sqlite://"+filepath.Join(dir, "boxoffice.db"), "--gateway-url", bank,
		"--roles", roles, "--redis-url", "off", "--admin-token", "admin-token-of-the-test")
}

// Every step is made by a process of its own, which has ended before the next step:
// the next process has only the state that the earlier ones left.
func TestCrashes(t *testing.T) {
	t.Parallel()
	dir, bank := t.TempDir(), bank(t)
	type order struct {
		seat, card, want string
		cancel           bool
		held             ticket
		payment          string
	}
	orders := []*order{
		{seat: "A-1", card: approve, want: "CONFIRMED , SUCCESS , SOLD"},
		{seat: "B-1", card: decline, want: "CANCELLED PAYMENT_FAILED, FAILED , AVAILABLE"},
		{seat: "C-1", card: timeout, want: "CONFIRMED , SUCCESS , SOLD"},
		{seat: "D-1", card: approve, want: "CANCELLED USER_REQUEST, REFUNDED LATE, AVAILABLE", cancel: true},
	}
	step := func(roles string, work func(p *process)) {
		t.Helper()
		p := split(t, dir, bank, roles)
		if work != nil {
			work(p)
		}
		require.NoError(t, p.stop())
	}
	step("api,admitter", func(p *process) {
		for _, o := range orders {
			o.held = p.fan("ann").hold(o.seat)
		}
	})
	step("api,admitter", func(p *process) {
		for _, o := range orders {
			o.payment = p.fan("ann").pay(o.held, o.card)
		}
	})
	step("api,admitter", func(p *process) {
		f := p.fan("ann")
		for _, o := range orders {
			if again := f.pay(o.held, o.card); again != o.payment {
				t.Errorf("after a restart the key gave %s, before it %s", again, o.payment)
			}
			if o.cancel {
				f.call(http.MethodDelete, "/api/me/tickets/"+o.held.ReservationID, "", nil, 200, nil)
			}
		}
	})
	// The worker charges, and ends; the relay publishes, and ends; the worker handles;
	// and so on, until no work is left.
	for round := 0; ; round++ {
		if round == 20 {
			t.Fatal("after 20 rounds there is still something to do")
		}
		step("worker", func(p *process) { rest(t, p, func() (int, error) { return openWork(t.Context(), p) }) })
		step("relay", func(p *process) { rest(t, p, func() (int, error) { return backlog(t.Context(), p) }) })
		settled := false
		step("api,admitter", func(p *process) { settled = p.audit().Quiescent })
		if settled {
			break
		}
	}
	step("api,admitter", func(p *process) {
		f := p.fan("ann")
		for _, o := range orders {
			f.await(o.held.ReservationID, o.payment, o.seat, o.want)
		}
		p.sound()
	})
}

// rest waits until a process has no work left.
func rest(t *testing.T, p *process, open func() (int, error)) {
	t.Helper()
	n, err := 0, error(nil)
	boxtest.WaitFor(t, "an end of the work", func() bool { n, err = open(); return n == 0 && err == nil }, func() string { return fmt.Sprintf("%d left to do, %v", n, err) })
}

func backlog(ctx context.Context, p *process) (n int, err error) {
	shards, err := p.app.office.events.Stats(ctx)
	for _, s := range shards {
		n += s.Backlog
	}
	return n, err
}

// openWork counts unhandled messages and open calls to the gateway.
func openWork(ctx context.Context, p *process) (n int, err error) {
	lags, err := p.app.office.bus.Lag(ctx)
	if err != nil {
		return 0, err
	}
	for _, l := range lags {
		n += l.Messages
	}
	var calls int
	err = p.app.office.store.Reader().QueryRowContext(ctx, `SELECT COUNT(*) FROM payments WHERE status = 'PROCESSING' OR refund_state = 'REQUESTED'`).Scan(&calls)
	return n + calls, err
}

// The relay crashed before it moved its cursor, and every consumer before it moved
// its own: everything is published and delivered again.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	book := func(p *process, seat string, card, want string) {
		t.Helper()
		f := p.fan("ann")
		held := f.hold(seat)
		payment := f.pay(held, card)
		f.await(held.ReservationID, payment, seat, want)
	}
	p := start(t, "--data-dir", dir)
	book(p, "A-1", approve, "CONFIRMED , SUCCESS , SOLD")
	book(p, "B-1", decline, "CANCELLED PAYMENT_FAILED, FAILED , AVAILABLE")
	p.sound()
	require.NoError(t, p.stop())
	s, err := store.Open(t.Context(), "sqlite://"+filepath.Join(dir, "boxoffice.db"))
	require.NoError(t, err)
	for _, cursors := range []string{"outbox_cursors", "bus_cursors"} {
		res, err := s.DB().Exec(`UPDATE ` + cursors + ` SET last_id = 0 WHERE last_id > 0`)
		require.NoError(t, err)
		if n, err := res.RowsAffected(); n == 0 || err != nil {
			t.Fatalf("%s: %d cursors were moved back, %v", cursors, n, err)
		}
	}
	require.NoError(t, s.Close())
	p = start(t, "--data-dir", dir)
	book(p, "C-1", approve, "CONFIRMED , SUCCESS , SOLD")
	p.sound()
	skipped := int64(0)
	for _, guard := range p.app.office.consumers.guards {
		skipped += guard.Stats().Duplicates
	}
	// Delivered again by the transport, and once more after the relay published
	// them again.
	if again := int64(2 * (5 + 5)); skipped < again { // five effects of each order
		t.Errorf("%d duplicates were skipped, want at least %d", skipped, again)
	}
}

func TestMalformedMessage(t *testing.T) {
	p := start(t, "--data-dir", t.TempDir())
	require.NoError(t, p.app.office.bus.Publisher().Publish("payment.events", message.NewMessage("no-event", []byte(`{"this is": "no event"`))))
	f := p.fan("ann")
	held := f.hold("A-1")
	payment := f.pay(held, approve)
	f.await(held.ReservationID, payment, "A-1", "CONFIRMED , SUCCESS , SOLD")
	dead := 0
	boxtest.WaitFor(t, "a dead letter of each of 4 groups", func() bool {
		letters, err := p.app.office.bus.Browse(t.Context(), "dlq.payment", 100)
		require.NoError(t, err)
		dead = len(letters)
		return dead == 4
	}, func() string { return fmt.Sprintf("there are %d", dead) })
	for _, c := range p.rest().Checks {
		assert.Equalf(t, (c.Name != "no-dead-letters"), c.OK, "%+v", c)
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "--data-dir", dir)
	f := p.fan("ann")
	held := f.hold("A-1")
	payment := f.pay(held, timeout)
	began := time.Now()
	require.NoError(t, p.stop())
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("ending took %v", took)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.app.URL(), "http://")); err == nil {
		conn.Close()
		t.Error("it still answers")
	}
	for _, left := range []string{"boxoffice.db-wal", "gateway.db-wal"} {
		if _, err := os.Stat(filepath.Join(dir, left)); err == nil {
			t.Errorf("%s was left behind: the database was not closed", left)
		}
	}
	// The next one takes up the payment at once, under the same name.
	p = start(t, "--data-dir", dir)
	f = p.fan("ann")
	f.await(held.ReservationID, payment, "A-1", "CONFIRMED , SUCCESS , SOLD")
	p.sound()
}

func TestHealth(t *testing.T) {
	p := start(t, "--data-dir", t.TempDir())
	p.ready()
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready", "/metrics": `kafka_consumer_lag{group=`, "/": "<html"} {
		res, err := p.http.Get(p.app.URL() + path)
		require.NoError(t, err)
		var text strings.Builder
		if _, err := fmt.Fprint(&text, readAll(t, res)); err != nil || res.StatusCode != 200 || !strings.Contains(text.String(), want) {
			t.Errorf("%s: %s %.200s", path, res.Status, text.String())
		}
	}
	res, err := p.http.Get(p.app.URL() + "/metrics")
	require.NoError(t, err)
	assert.Contains(t, readAll(t, res), `route="/readyz"`, "requests are not counted by route")
	res, err = p.http.Post(p.app.URL()+"/api/login", "application/json", strings.NewReader(strings.Repeat("x", 10<<20)))
	if err == nil && res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("10 MB: %s", res.Status)
	}
	if err == nil {
		res.Body.Close()
	}
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	var b strings.Builder
	buf := make([]byte, 32<<10)
	for {
		n, err := res.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}

func TestStartErrors(t *testing.T) {
	p := start(t, "--data-dir", t.TempDir())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no database, and long enough to be seen as none ................................................................"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"port in use":      {[]string{"--addr", ln.Addr().String(), "--data-dir", t.TempDir()}, []string{"BOXOFFICE_ADDR", "in use"}},
		"folder in use":    {[]string{"--data-dir", p.app.cfg.DataDir}, []string{"BOXOFFICE_DATA_DIR", fmt.Sprint(os.Getpid())}},
		"folder is a file": {[]string{"--data-dir", file}, []string{"BOXOFFICE_DATA_DIR", file}},
		"no database":      {[]string{"--data-dir", t.TempDir(), "--db-url", "sqlite://" + file}, []string{"BOXOFFICE_DB_URL", "not a SQLite database"}},
		"transport":        {[]string{"--data-dir", t.TempDir(), "--bus-url", "sqlite://" + filepath.Join(t.TempDir(), "b.db") + "?speed=high"}, []string{"BOXOFFICE_BUS_URL", `"speed"`}},
	} {
		cfg := settings(t, c.args...)
		a, err := New(cfg, Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err = a.Run(ctx)
		cancel()
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.want {
			assert.Containsf(t, err.Error(), want, "%s: %q is missing in: %v", name, want, err)
		}
	}
	if _, err := New(config.Config{}, Options{}); err == nil {
		t.Error("an empty configuration was accepted")
	}
}
