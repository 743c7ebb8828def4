package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, cfg Config) *Gateway {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "ledger.db")
	}
	if cfg.MaxLatency == 0 {
		cfg.MaxLatency = -1
	}
	g, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, g.Close())
	})
	return g
}

func body(amount int, card, reference string) string {
	return fmt.Sprintf(`{"amount":%d,"currency":"KRW","card":%q,"reference":%q}`, amount, card, reference)
}

// call runs one request through the handler, without a network.
func call(t *testing.T, g *Gateway, method, path, key, reqBody string, into any) int {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(reqBody))
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	rec := httptest.NewRecorder()
	g.Handler().ServeHTTP(rec, req)
	if into != nil {
		if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
			t.Fatalf("%s %s: %d %q: %v", method, path, rec.Code, rec.Body, err)
		}
	}
	return rec.Code
}

func totals(t *testing.T, g *Gateway) (sum Totals) {
	t.Helper()
	require.Equal(t, 200, call(t, g, "GET", "/ledger", "", "", &sum), "GET /ledger")
	return sum
}

func TestCards(t *testing.T) {
	g := open(t, Config{})
	for card, want := range map[string]Status{CardApproved: Approved, CardDeclined: Declined} {
		var c, again Charge
		require.Equalf(t, 200, call(t, g, "POST", "/charges", "k-"+card, body(1000, card, "r"), &c), "%s", card)
		if c.Status != want || c.Key != "k-"+card || c.Amount != 1000 || c.Currency != "KRW" || c.ID == "" || c.Refunded || c.SettledAt == nil {
			t.Errorf("%s: %+v", card, c)
		}
		assert.Equalf(t, (want == Approved), (c.Reason == ""), "%s: reason %q", card, c.Reason)
		if code := call(t, g, "GET", "/charges/k-"+card, "", "", &again); code != 200 || again.ID != c.ID {
			t.Errorf("%s: GET answers %d %+v", card, code, again)
		}
	}
	assert.Equal(t, 404, call(t, g, "GET", "/charges/never", "", "", nil), "unknown key")
}

func TestRepeatAnswersTheFirstCharge(t *testing.T) {
	g := open(t, Config{})
	var first, second Charge
	call(t, g, "POST", "/charges", "k", body(1000, CardApproved, "r"), &first)
	require.Equal(t, 200, call(t, g, "POST", "/charges", "k", body(1000, CardApproved, "r"), &second))
	if first.ID != second.ID || !first.CreatedAt.Equal(second.CreatedAt) {
		t.Errorf("first %+v, second %+v", first, second)
	}
	if sum := totals(t, g); sum.Charges != 1 || sum.ApprovedAmount != 1000 {
		t.Errorf("%+v", sum)
	}
}

func TestKeyReuseIsRefused(t *testing.T) {
	g := open(t, Config{})
	call(t, g, "POST", "/charges", "k", body(1000, CardApproved, "r"), nil)
	for name, other := range map[string]string{
		"amount":    body(1001, CardApproved, "r"),
		"card":      body(1000, CardDeclined, "r"),
		"reference": body(1000, CardApproved, "r2"),
	} {
		if code := call(t, g, "POST", "/charges", "k", other, nil); code != 409 {
			t.Errorf("other %s: %d, want 409", name, code)
		}
	}
	if sum := totals(t, g); sum.Charges != 1 || sum.ApprovedAmount != 1000 {
		t.Errorf("%+v", sum)
	}
}

func TestConcurrentRepeatsChargeOnce(t *testing.T) {
	g := open(t, Config{MaxLatency: 2 * time.Millisecond})
	ids := make([]string, 32)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var c Charge
			assert.Equal(t, 200, call(t, g, "POST", "/charges", "k", body(1000, CardApproved, "r"), &c))
			ids[i] = c.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("answers differ: %q and %q", id, ids[0])
		}
	}
	if sum := totals(t, g); sum.Charges != 1 {
		t.Errorf("%+v", sum)
	}
}

// impatient posts a timed-out charge and disconnects after patience.
func impatient(t *testing.T, url, key string, patience time.Duration) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/charges", strings.NewReader(body(700, CardTimeout, "r")))
	require.NoError(t, err)
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	return res, err
}

func TestPendingSettlesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, Config{})
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- g.Run(ctx) }()

		given, giveUp := context.WithTimeout(t.Context(), time.Second)
		defer giveUp()
		req := httptest.NewRequestWithContext(given, "POST", "/charges", strings.NewReader(body(700, CardTimeout, "r")))
		req.Header.Set("Idempotency-Key", "k")
		rec := httptest.NewRecorder()
		g.Handler().ServeHTTP(rec, req)
		if rec.Body.Len() > 0 {
			t.Errorf("the answer came in time: %s", rec.Body)
		}
		var c Charge
		if call(t, g, "GET", "/charges/k", "", "", &c); c.Status != Pending || c.SettledAt != nil {
			t.Errorf("after 1 s: %+v", c)
		}
		// A repeat of the same key is answered with the state so far.
		if code := call(t, g, "POST", "/charges", "k", body(700, CardTimeout, "r"), &c); code != 200 || c.Status != Pending {
			t.Errorf("repeat: %d %+v", code, c)
		}
		assert.Equal(t, 409, call(t, g, "POST", "/charges/k/refund", "", "", nil), "refund while pending")
		time.Sleep(2100 * time.Millisecond) // simulated: 3.1 s after the charge
		synctest.Wait()
		if sum := totals(t, g); sum.Pending != 0 || sum.Approved != 1 {
			t.Errorf("nobody asked for the charge: %+v", sum)
		}
		if call(t, g, "GET", "/charges/k", "", "", &c); c.Status != Approved || c.SettledAt == nil {
			t.Errorf("after 3.1 s: %+v", c)
		}
		stop()
		assert.NoError(t, <-ran)
	})
}

func TestPendingSettlesAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	before := open(t, Config{Path: path, SettleAfter: 400 * time.Millisecond})
	o := order{key: "k", card: CardTimeout, amount: 700}
	_, _, err := before.ledger.charge(t.Context(), o, time.Now(), before.cfg.SettleAfter)
	require.NoError(t, err)
	require.NoError(t, before.Close())
	// Another SettleAfter must not matter: the time is in the ledger.
	after := open(t, Config{Path: path, SettleAfter: time.Hour})
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- after.Run(ctx) }()
	boxtest.WaitFor(t, "the charge to settle after the restart", func() bool { return totals(t, after).Approved == 1 })
	stop()
	<-ran
}

func TestHeldConnectionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, Config{})
		start := time.Now()
		code := call(t, g, "POST", "/charges", "k", body(700, CardTimeout, "r"), nil)
		if took := time.Since(start); code != 504 || took != HoldFor {
			t.Errorf("%d after %v, want 504 after %v", code, took, HoldFor)
		}
	})
}

func TestRunEndsHeldConnections(t *testing.T) {
	g := open(t, Config{})
	server := httptest.NewServer(g.Handler())
	t.Cleanup(server.Close) // waits for running requests
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	held := make(chan error, 1)
	go func() {
		_, err := impatient(t, server.URL, "k", 20*time.Second) //nolint:bodyclose // the call ends with an error
		held <- err
	}()
	for totals(t, g).Pending != 1 {
		select {
		case err := <-held:
			t.Fatalf("answered early: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	<-ran
	if err := <-held; err == nil || t.Context().Err() != nil {
		t.Errorf("the held request ended with %v, want a broken connection", err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestRefund(t *testing.T) {
	g := open(t, Config{})
	call(t, g, "POST", "/charges", "yes", body(1000, CardApproved, "r"), nil)
	call(t, g, "POST", "/charges", "no", body(1000, CardDeclined, "r"), nil)
	var first, second Charge
	if code := call(t, g, "POST", "/charges/yes/refund", "", "", &first); code != 200 || !first.Refunded || first.Status != Approved {
		t.Errorf("%d %+v", code, first)
	}
	if code := call(t, g, "POST", "/charges/yes/refund", "", "", &second); code != 200 || !second.RefundedAt.Equal(*first.RefundedAt) {
		t.Errorf("again: %d %+v", code, second)
	}
	assert.Equal(t, 409, call(t, g, "POST", "/charges/no/refund", "", "", nil), "declined")
	assert.Equal(t, 404, call(t, g, "POST", "/charges/never/refund", "", "", nil), "unknown")
	want := Totals{Charges: 2, Approved: 1, Declined: 1, Refunded: 1, ApprovedAmount: 1000, RefundedAmount: 1000}
	if sum := totals(t, g); sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}

func TestLedgerCountsDuplicates(t *testing.T) {
	g := open(t, Config{})
	call(t, g, "POST", "/charges", "a", body(1000, CardApproved, "same"), nil)
	call(t, g, "POST", "/charges", "b", body(1000, CardApproved, "same"), nil)
	if sum := totals(t, g); sum.DuplicateReferences != 1 {
		t.Errorf("two charges for one reference: %+v", sum)
	}
	call(t, g, "POST", "/charges/b/refund", "", "", nil)
	if sum := totals(t, g); sum.DuplicateReferences != 0 {
		t.Errorf("after the refund of one: %+v", sum)
	}
	// A ledger without the constraint, as a faulty provider would keep it.
	for _, stmt := range []string{
		`CREATE TABLE copy AS SELECT * FROM charges`,
		`DROP TABLE charges`,
		`CREATE TABLE charges AS SELECT * FROM copy UNION ALL SELECT * FROM copy WHERE key = 'a'`,
	} {
		_, err := g.ledger.w.Exec(stmt)
		require.NoError(t, err)
	}
	if sum := totals(t, g); sum.DuplicateKeys != 1 {
		t.Errorf("a key charged twice: %+v", sum)
	}
}

func TestChargesArePaged(t *testing.T) {
	g := open(t, Config{})
	for i := range 7 {
		call(t, g, "POST", "/charges", fmt.Sprint("k", i), body(1000+i, CardApproved, ""), nil)
	}
	var seen []string
	after := int64(0)
	for {
		var page Page
		require.Equal(t, 200, call(t, g, "GET", fmt.Sprintf("/ledger/charges?limit=3&after=%d", after), "", "", &page))
		if len(page.Charges) > 3 {
			t.Fatalf("%d charges on a page of 3", len(page.Charges))
		}
		for _, c := range page.Charges {
			seen = append(seen, c.Key)
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	assert.Equal(t, "k0 k1 k2 k3 k4 k5 k6", strings.Join(seen, " "))
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "after=-1"} {
		if code := call(t, g, "GET", "/ledger/charges?"+query, "", "", nil); code != 400 {
			t.Errorf("%s: %d, want 400", query, code)
		}
	}
}

func TestBadInput(t *testing.T) {
	g := open(t, Config{})
	good := body(1000, CardApproved, "r")
	for _, c := range []struct {
		name, key, body string
		code            int
		says            string
	}{
		{"no key", "", good, 400, "Idempotency-Key"},
		{"long key", strings.Repeat("k", 201), good, 400, "Idempotency-Key"},
		{"binary key", "k\x01", good, 400, "Idempotency-Key"},
		{"empty body", "k", "", 400, "one JSON object"},
		{"not JSON", "k", "amount=1", 400, "one JSON object"},
		{"two values", "k", good + good, 400, "more than one"},
		{"unknown field", "k", `{"amount":1,"cvc":"123"}`, 400, "cvc"},
		{"fraction", "k", `{"amount":1.5}`, 400, "amount"},
		{"zero amount", "k", body(0, CardApproved, "r"), 422, "amount"},
		{"negative amount", "k", body(-5, CardApproved, "r"), 422, "amount"},
		{"huge amount", "k", body(2_000_000_000, CardApproved, "r"), 422, "amount"},
		{"currency", "k", strings.Replace(good, "KRW", "USD", 1), 422, "KRW"},
		{"card", "k", body(1000, "4111111111111111", "r"), 422, "test cards"},
		{"no card", "k", body(1000, "", "r"), 422, "test cards"},
		{"long reference", "k", body(1000, CardApproved, strings.Repeat("r", 201)), 422, "reference"},
		{"10 MB", "k", `{"reference":"` + strings.Repeat("x", 10<<20) + `"}`, 413, "bytes"},
	} {
		var p struct{ Detail string }
		if code := call(t, g, "POST", "/charges", c.key, c.body, &p); code != c.code || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s: %d %q, want %d and %q", c.name, code, p.Detail, c.code, c.says)
		}
		assert.NotContainsf(t, p.Detail, "4111111111111111", "%s: the card number is in the answer", c.name)
	}
	if sum := totals(t, g); sum.Charges != 0 {
		t.Errorf("bad input was charged: %+v", sum)
	}
}

func TestConfigErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for name, cfg := range map[string]Config{
		"Path":        {},
		"MinLatency":  {Path: path, MinLatency: time.Second, MaxLatency: time.Millisecond},
		"SettleAfter": {Path: path, SettleAfter: -1},
		"folder":      {Path: filepath.Join(t.TempDir(), "none", "ledger.db")},
	} {
		g, err := New(cfg)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if g != nil {
			_ = g.Close()
		}
	}
}

// A service that stops does not wait for simulated latency.
func TestStopEndsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gateway{quit: make(chan struct{})}
		began, paused := time.Now(), make(chan struct{})
		go func() {
			defer close(paused)
			g.pause(time.Hour)
		}()
		synctest.Wait()
		g.release()
		<-paused
		assert.EqualValues(t, 0, time.Since(began), "it took")
	})
}

func TestMainServesAndDrains(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := boxtest.NewFirstLine()
	var stderr bytes.Buffer
	exit := make(chan int, 1)
	go func() {
		exit <- Main(ctx, []string{"--ledger", filepath.Join(t.TempDir(), "l.db"), "--min-latency", "4s", "--max-latency", "4s"}, out, &stderr)
	}()
	var url string
	select {
	case url = <-out.Line:
	case code := <-exit:
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	defer http.DefaultClient.CloseIdleConnections()
	charged := make(chan error, 1)
	go func() {
		charged <- post(t.Context(), url)
	}()
	// Once it is in the ledger, the request waits for the second half of its
	// latency: the service stops in the middle of it.
	for inLedger(t, url) == 0 {
		select {
		case err := <-charged:
			t.Fatalf("answered early: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	stop()
	assert.NoError(t, <-charged, "a running request was cut")
	if code := <-exit; code != 0 {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

// post charges a card over the network.
func post(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/charges", strings.NewReader(body(1000, CardApproved, "r")))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", "k")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // a test
	var c Charge
	if err := json.NewDecoder(res.Body).Decode(&c); err != nil || res.StatusCode != http.StatusOK || c.Status != Approved {
		return fmt.Errorf("%d %+v %w", res.StatusCode, c, err)
	}
	return nil
}

// inLedger asks over the network how many charges there are.
func inLedger(t *testing.T, url string) int64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/ledger", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // a test
	var sum Totals
	require.NoError(t, json.NewDecoder(res.Body).Decode(&sum))
	return sum.Charges
}

func TestMainErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"flag":    {[]string{"--wrong"}, 2, "wrong"},
		"extra":   {[]string{"now"}, 2, "now"},
		"folder":  {[]string{"--ledger", "/nonexistent/x/l.db"}, 1, "/nonexistent/x"},
		"address": {[]string{"--addr", "256.0.0.1:0", "--ledger", filepath.Join(t.TempDir(), "l.db")}, 1, "256.0.0.1"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(t.Context(), c.args, &stdout, &stderr); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: exit %d, %q", name, code, stderr.String())
		}
	}
}
