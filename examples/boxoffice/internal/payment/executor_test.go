package payment_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

// about keeps the events about payments.
func about(all []event.Event) (out []event.Event) {
	for _, e := range all {
		if e.AggregateType == "payment" {
			out = append(out, e)
		}
	}
	return out
}

func TestOutcomes(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	approved := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	declined := b.Pay(t, b.Reserve(t, "ann", "A-2"), boxtest.Decline)
	late := b.Pay(t, b.Reserve(t, "ann", "A-3"), boxtest.Timeout)
	b.Outbox.Take()
	var looked atomic.Bool // until then the outcome of the late one is unknown
	bank.set(func(r *http.Request) failure {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, late.Key) && !looked.Load() {
			return serverError
		}
		return none
	})
	x, stop := execute(t, b, bank.url, nil)
	settled(t, b, approved.ID, payment.Success)
	settled(t, b, declined.ID, payment.Failed)
	assert.Equal(t, payment.Processing, b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, late.ID), "a charge without an answer")
	looked.Store(true)
	settled(t, b, late.ID, payment.Success)
	stop()
	byPayment := map[string]event.Event{}
	for _, e := range about(b.Outbox.Take()) {
		if _, twice := byPayment[e.AggregateID]; twice || e.Key() != "ann" {
			t.Errorf("event %s of %s again, or with key %q", e.Type, e.AggregateID, e.Key())
		}
		byPayment[e.AggregateID] = e
	}
	var paid events.Paid
	if e := byPayment[approved.ID]; e.Type != events.PaymentSuccess {
		t.Errorf("approved: %s", e.Type)
	} else if err := e.UnmarshalData(&paid); err != nil || paid.PaymentKey != approved.Key || paid.Amount != 150_000 || paid.PortoneTransactionID == "" {
		t.Errorf("%+v, %v", paid, err)
	}
	if byPayment[declined.ID].Type != events.PaymentFailed || byPayment[late.ID].Type != events.PaymentSuccess {
		t.Errorf("%s, %s", byPayment[declined.ID].Type, byPayment[late.ID].Type)
	}
	assert.Equal(t, "card_declined", b.Query(t, `SELECT failure_reason FROM payments WHERE payment_id = $1`, declined.ID), "reason")
	if l := bank.ledger(t); l.Charges != 3 || l.Approved != 2 || l.Declined != 1 || l.DuplicateReferences != 0 {
		t.Errorf("ledger: %+v", l)
	}
	boxtest.WaitFor(t, "the end of the calls", func() bool { return x.Status().InFlight == 0 })
	if s := x.Status(); s.Approved != 2 || s.Declined != 1 || s.InFlight != 0 || s.Postponed == 0 || s.LastError == "" {
		t.Errorf("status: %+v", s)
	}
}

// The payloads' names are contracts.
func TestPayloads(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	q := b.Pay(t, b.Reserve(t, "ann", "A-2"), boxtest.Decline)
	b.Outbox.Take()
	execute(t, b, bank.url, nil)
	settled(t, b, p.ID, payment.Success)
	settled(t, b, q.ID, payment.Failed)
	for _, e := range about(b.Outbox.Take()) {
		want := "paymentId paymentKey reservationId amount paidAt portoneTransactionId paymentType sagaId"
		if e.Type == events.PaymentFailed {
			want = "paymentId paymentKey reservationId amount failureReason failedAt paymentType sagaId"
		}
		var fields map[string]any
		require.NoError(t, json.Unmarshal(e.Data, &fields))
		assert.Lenf(t, fields, len(strings.Fields(want)), "%s", e.Type)
		for _, name := range strings.Fields(want) {
			if _, ok := fields[name]; !ok {
				t.Errorf("%s lacks %s", e.Type, name)
			}
		}
		if fields["paymentType"] != "reservation" || fields["sagaId"] != fields["reservationId"] {
			t.Errorf("%v", fields)
		}
	}
}

// The process dies at every point around the call; another takes over. Each case has
// one charge and one event.
func TestCrash(t *testing.T) {
	for name, f := range map[string]failure{
		"before the gateway hears of it": lostRequest, "after the gateway charged": lostAnswer, "the gateway is broken": serverError,
	} {
		t.Run(name, func(t *testing.T) {
			b, bank := boxtest.New(t), newBank(t)
			for _, card := range []string{boxtest.Approve, boxtest.Decline} {
				p := b.Pay(t, b.Reserve(t, "ann", map[string]string{boxtest.Approve: "A-1", boxtest.Decline: "A-2"}[card]), card)
				b.Outbox.Take()
				// The first process claims, calls, and dies: its claim lasts.
				var first atomic.Bool
				bank.set(func(*http.Request) failure {
					if first.CompareAndSwap(false, true) {
						return f
					}
					return none
				})
				b.Exec(t, `UPDATE payments SET lease_holder = 'dead', lease_token = 1, attempts = 1, next_attempt_at = now_ms() + 60000 WHERE payment_id = $1`, p.ID)
				res, err := http.DefaultClient.Do(chargeRequest(t, bank.url, p, card))
				if err == nil {
					res.Body.Close()
				}
				http.DefaultClient.CloseIdleConnections()
				control, err := b.Payments.Start(t.Context(), payment.Request{
					Key: "control-" + card, Member: "bob", Type: events.ForMembership, Amount: payment.MembershipPrice, Card: boxtest.Approve})
				require.NoError(t, err)
				x, stop := execute(t, b, bank.url, nil)
				settled(t, b, control.ID, payment.Success)
				if got := b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID); got != payment.Processing {
					t.Fatalf("while the dead one's lease lasts: %s, %+v", got, x.Status())
				}
				b.Exec(t, `UPDATE payments SET next_attempt_at = 1 WHERE payment_id = $1`, p.ID) // it runs out
				want := map[string]string{boxtest.Approve: payment.Success, boxtest.Decline: payment.Failed}[card]
				settled(t, b, p.ID, want)
				stop()
				if n := len(about(b.Outbox.Take())); n != 2 { // and the control's
					t.Errorf("%d events", n)
				}
			}
			if l := bank.ledger(t); l.Charges != 4 || l.Approved != 3 || l.Declined != 1 {
				t.Errorf("ledger: %+v", l)
			}
		})
	}
}

// chargeRequest is the call that the executor makes first.
func chargeRequest(t *testing.T, url string, p payment.Payment, card string) *http.Request {
	t.Helper()
	body, err := json.Marshal(map[string]any{"amount": p.Amount, "currency": "KRW", "card": card, "reference": p.Type + ":" + p.ReferenceID})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/charges", strings.NewReader(string(body)))
	require.NoError(t, err)
	r.Header.Set("Idempotency-Key", p.Key)
	return r
}

// A restarted process whose name no other uses does not wait for its own lease.
func TestSoleHolderTakesOverAtOnce(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	q := b.Pay(t, b.Reserve(t, "ann", "A-2"), boxtest.Approve)
	hour := `UPDATE payments SET lease_holder = $2, lease_token = 1, attempts = 1, next_attempt_at = now_ms() + 3600000 WHERE payment_id = $1`
	b.Exec(t, hour, p.ID, "test")
	b.Exec(t, hour, q.ID, "another")
	execute(t, b, bank.url, func(c *payment.ExecutorConfig) { c.Sole = true })
	settled(t, b, p.ID, payment.Success)
	assert.Equal(t, payment.Processing, b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, q.ID), "another's claim was taken")
}

func TestTwoExecutors(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	other := boxtest.Open(t, b.URL)
	// A lease that expires during the work: both work on the same payment.
	var slow atomic.Bool
	release := make(chan struct{})
	bank.set(func(r *http.Request) failure {
		if slow.CompareAndSwap(false, true) {
			<-release
		}
		return none
	})
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	b.Outbox.Take()
	_, stop := execute(t, b, bank.url, nil)
	boxtest.WaitFor(t, "the first call", func() bool { return b.Query(t, `SELECT lease_token FROM payments WHERE payment_id = $1`, p.ID) != "0" })
	b.Exec(t, `UPDATE payments SET next_attempt_at = 1 WHERE payment_id = $1`, p.ID)
	_, stopOther := execute(t, other, bank.url, func(c *payment.ExecutorConfig) { c.Holder = "other" })
	boxtest.WaitFor(t, "the other's success", func() bool {
		return b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID) == payment.Success
	})
	close(release)
	stop()
	stopOther()
	assert.Equal(t, 1, len(about(b.Outbox.Take()))+len(about(other.Outbox.Take())), "events")
	if l := bank.ledger(t); l.Charges != 1 {
		t.Errorf("ledger: %+v", l)
	}
}

func TestGatewayDown(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	var down atomic.Bool
	down.Store(true)
	bank.set(func(r *http.Request) failure {
		switch {
		case !down.Load():
			return none
		case bank.calls.Load()%2 == 0:
			return serverError
		}
		return lostRequest
	})
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	b.Outbox.Take()
	x, _ := execute(t, b, bank.url, nil)
	boxtest.WaitFor(t, "some attempts", func() bool { return x.Status().Postponed >= 4 })
	if got := b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID); got != payment.Processing || len(b.Outbox.Take()) != 0 {
		t.Errorf("while the gateway is away: %s", got)
	}
	if got := b.Query(t, `SELECT last_error FROM payments WHERE payment_id = $1`, p.ID); got == "" {
		t.Error("nobody can see why")
	}
	down.Store(false)
	settled(t, b, p.ID, payment.Success)
}

func TestGatewayRefuses(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	bank.set(func(*http.Request) failure { return deniedInvalid })
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	execute(t, b, bank.url, nil)
	settled(t, b, p.ID, payment.Failed)
	assert.Equal(t, payment.GatewayRefused, b.Query(t, `SELECT failure_reason FROM payments WHERE payment_id = $1`, p.ID), "reason")
}

// The gateway refuses the key while it decides about the first call, of which it shows no
// charge yet. This decides nothing.
func TestKeyInUse(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	bank.failInTurn(http.MethodPost, lostRequest, deniedKey)
	execute(t, b, bank.url, nil)
	boxtest.WaitFor(t, "the outcome", func() bool {
		return b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID) != payment.Processing
	})
	assert.Equal(t, payment.Success, b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID), "a payment that the gateway decides later")
}

// The charge was made and its answer was lost. That the gateway then refuses to say what became
// of it decides nothing.
func TestRefusedQuestion(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	bank.failInTurn("", lostAnswer, deniedInvalid, deniedKey)
	execute(t, b, bank.url, nil)
	boxtest.WaitFor(t, "the outcome", func() bool {
		return b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID) != payment.Processing
	})
	assert.Equal(t, payment.Success, b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID), "a payment that the gateway has charged")
}

// The gateway has a charge of another request under the payment's key: it is not the payment's,
// whether the first call is refused for it, or was lost and the next attempt finds it.
func TestChargeOfAnotherRequest(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	another := func(p *payment.Payment) { p.ReferenceID = "another" }
	for seat, c := range map[string]struct {
		change   func(p *payment.Payment)
		attempts int // before
	}{
		"A-1": {func(p *payment.Payment) { p.Amount = 100 }, 1},
		"A-2": {another, 1},
		"A-3": {another, 0},
	} {
		p := b.Pay(t, b.Reserve(t, "ann", seat), boxtest.Approve)
		other := p
		c.change(&other)
		res, err := http.DefaultClient.Do(chargeRequest(t, bank.url, other, boxtest.Approve))
		require.NoError(t, err)
		res.Body.Close()
		b.Exec(t, `UPDATE payments SET attempts = $2 WHERE payment_id = $1`, p.ID, c.attempts)
		_, stop := execute(t, b, bank.url, nil)
		boxtest.WaitFor(t, "the outcome", func() bool {
			return b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID) != payment.Processing
		})
		stop()
		if got := b.Query(t, `SELECT status || ' ' || COALESCE(failure_reason, '') FROM payments WHERE payment_id = $1`, p.ID); got != payment.Failed+" "+payment.KeyConflict {
			t.Errorf("%s: the payment is %s", seat, got)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// An answer that is about no charge of the payment decides nothing.
func TestAnswerOfAnotherKey(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	charged, refunded := `{"status": "APPROVED"}`, `{"key": "another", "refunded": true}`
	bank.answer.Store(&charged)
	x, _ := execute(t, b, bank.url, nil)
	stays := func(open string) {
		t.Helper()
		before, got := x.Status().Postponed, ""
		boxtest.WaitFor(t, "some attempts", func() bool {
			got = b.Query(t, `SELECT status || ' ' || refund_state FROM payments WHERE payment_id = $1`, p.ID)
			return got != open || x.Status().Postponed >= before+3
		})
		assert.Equal(t, open, got, "the payment")
		bank.answer.Store(nil)
	}
	stays("PROCESSING NONE")
	settled(t, b, p.ID, payment.Success)
	bank.answer.Store(&refunded)
	_, err := b.Payments.Refund(t.Context(), "ann", p.ID)
	require.NoError(t, err)
	stays("SUCCESS REQUESTED")
	settled(t, b, p.ID, payment.Refunded)
}

// The gateway's texts have no bound, and may be no text.
func TestGatewayTexts(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	x, _ := execute(t, b, bank.url, nil)
	long := strings.Repeat("잔액 부족 ", 100)
	for _, status := range []string{"?" + long, "DECLINED"} {
		answer, err := json.Marshal(map[string]any{
			"key": p.Key, "amount": p.Amount, "reference": p.Type + ":" + p.ReferenceID, "status": status, "id": long, "reason": long + "\x00",
		})
		require.NoError(t, err)
		text := string(answer)
		bank.answer.Store(&text)
		if status != "DECLINED" {
			boxtest.WaitFor(t, "some attempts", func() bool { return x.Status().Postponed >= 3 })
			if got := b.Query(t, `SELECT COALESCE(last_error, '') FROM payments WHERE payment_id = $1`, p.ID); got == "" || !utf8.ValidString(got) {
				t.Errorf("the error is %q", got)
			}
		}
	}
	settled(t, b, p.ID, payment.Failed)
	for _, column := range []string{"failure_reason", "gateway_id"} {
		got := b.Query(t, `SELECT `+column+` FROM payments WHERE payment_id = $1`, p.ID)
		if utf8.RuneCountInString(got) > 128 || !strings.HasPrefix(got, "잔액 부족") {
			t.Errorf("%s is %q, and columns have 128 characters", column, got)
		}
	}
}

func TestShutdownFinishesCalls(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	began, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	bank.set(func(*http.Request) failure { once.Do(func() { close(began) }); <-release; return none })
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	_, stop := executeWithin(t, b, bank.url, time.Minute, func(c *payment.ExecutorConfig) { c.Lease = time.Hour })
	<-began
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	stop()
	assert.Equal(t, payment.Success, b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID), "a call that was under way left the payment")
}

func TestExecutorConfig(t *testing.T) {
	b := boxtest.New(t)
	g := payment.NewGateway("http://127.0.0.1:1", timeout, 1)
	for _, cfg := range []payment.ExecutorConfig{
		{}, {Holder: "x", Lease: timeout}, {Holder: "x", Concurrency: -1}, {Holder: "x", Look: -1}, {Holder: "x", Drain: -1},
	} {
		if _, err := payment.NewExecutor(b.Payments, g, cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
