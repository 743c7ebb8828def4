package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	currency  = "KRW"
	maxBody   = 16 << 10
	maxAmount = 1_000_000_000
	maxText   = 200 // characters of a key or a reference
)

// postCharge is POST /charges.
func (g *Gateway) postCharge(w http.ResponseWriter, r *http.Request) {
	o, status, err := readOrder(w, r)
	if err != nil {
		problem(w, status, err)
		return
	}
	// From here on the charge happens whether or not the client waits.
	ctx := context.WithoutCancel(r.Context())
	half := g.latency() / 2
	g.pause(half)
	c, fresh, err := g.ledger.charge(ctx, o, time.Now(), g.cfg.SettleAfter)
	switch {
	case errors.Is(err, errKeyReused):
		problem(w, http.StatusConflict, fmt.Errorf("%w: take a new Idempotency-Key", err))
		return
	case err != nil:
		problem(w, http.StatusServiceUnavailable, fmt.Errorf("the ledger cannot be written: %w", err))
		return
	}
	if fresh && c.Status == Pending {
		g.wake.Wake()
		g.hold(w, r)
		return
	}
	g.pause(half)
	answer(w, c)
}

// hold keeps the connection without an answer. When the service stops, the connection
// breaks: a late answer would hide the case that the client must handle.
func (g *Gateway) hold(w http.ResponseWriter, r *http.Request) {
	timer := time.NewTimer(HoldFor)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
	case <-g.quit:
		panic(http.ErrAbortHandler)
	case <-timer.C:
		problem(w, http.StatusGatewayTimeout, errors.New("the charge was accepted and its outcome is not known yet: ask GET /charges/{key}"))
	}
}

func (g *Gateway) getCharge(w http.ResponseWriter, r *http.Request) {
	c, err := find(r.Context(), g.ledger.r, r.PathValue("key"))
	if err != nil {
		ledgerProblem(w, err)
		return
	}
	answer(w, c)
}

func (g *Gateway) postRefund(w http.ResponseWriter, r *http.Request) {
	half := g.latency() / 2
	g.pause(half)
	c, err := g.ledger.refund(context.WithoutCancel(r.Context()), r.PathValue("key"), time.Now())
	if err != nil {
		ledgerProblem(w, err)
		return
	}
	g.pause(half)
	answer(w, c)
}

func (g *Gateway) getTotals(w http.ResponseWriter, r *http.Request) {
	t, err := g.ledger.totals(r.Context())
	if err != nil {
		ledgerProblem(w, err)
		return
	}
	answer(w, t)
}

// Page is the answer of GET /ledger/charges. Next is 0 on the last page.
type Page struct {
	Charges []Charge `json:"charges"`
	Next    int64    `json:"next"`
}

func (g *Gateway) getCharges(w http.ResponseWriter, r *http.Request) {
	after, err := number(r, "after", 0, 0, 1<<62)
	if err != nil {
		problem(w, http.StatusBadRequest, err)
		return
	}
	limit, err := number(r, "limit", 100, 1, 1000)
	if err != nil {
		problem(w, http.StatusBadRequest, err)
		return
	}
	charges, next, err := g.ledger.page(r.Context(), after, int(limit))
	if err != nil {
		ledgerProblem(w, err)
		return
	}
	answer(w, Page{Charges: charges, Next: next})
}

func (g *Gateway) getHealth(w http.ResponseWriter, r *http.Request) {
	if err := g.ledger.r.PingContext(r.Context()); err != nil {
		ledgerProblem(w, err)
		return
	}
	answer(w, map[string]string{"status": "ok"})
}

// readOrder reads and checks a request to charge. On an error it returns the
// status to answer with.
func readOrder(w http.ResponseWriter, r *http.Request) (order, int, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" || !printable(key) {
		return order{}, http.StatusBadRequest, fmt.Errorf("the Idempotency-Key header must be 1 to %d printable ASCII characters", maxText)
	}
	var body struct {
		Amount    int64  `json:"amount"`
		Currency  string `json:"currency"`
		Card      string `json:"card"`
		Reference string `json:"reference"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(&body)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			err = errors.New("more than one JSON value")
		}
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return order{}, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is over %d bytes", maxBody)
	case err != nil:
		return order{}, http.StatusBadRequest, fmt.Errorf("the body must be one JSON object {amount, currency, card, reference}: %w", err)
	case body.Amount < 1 || body.Amount > maxAmount:
		return order{}, http.StatusUnprocessableEntity, fmt.Errorf("amount %d is out of range: 1 to %d won", body.Amount, maxAmount)
	case body.Currency != currency:
		return order{}, http.StatusUnprocessableEntity, fmt.Errorf("currency %.10q is not supported: use %q", body.Currency, currency)
	case !printable(body.Reference):
		return order{}, http.StatusUnprocessableEntity, fmt.Errorf("reference must be at most %d printable ASCII characters", maxText)
	}
	switch body.Card {
	case CardApproved, CardDeclined, CardTimeout:
	default:
		// The number stays out of the answer and of any log.
		return order{}, http.StatusUnprocessableEntity, fmt.Errorf("unknown card: the test cards are %s, %s and %s", CardApproved, CardDeclined, CardTimeout)
	}
	return order{key: key, card: body.Card, reference: body.Reference, amount: body.Amount}, 0, nil
}

// printable reports whether a text is printable ASCII of at most maxText characters.
func printable(s string) bool {
	return len(s) <= maxText && !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c > 0x7e })
}

func number(r *http.Request, name string, unset, low, high int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return unset, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s must be a number from %d to %d", name, low, high)
	}
	return n, nil
}

func ledgerProblem(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errUnknownKey):
		problem(w, http.StatusNotFound, err)
	case errors.Is(err, errNotApproved):
		problem(w, http.StatusConflict, err)
	default:
		problem(w, http.StatusServiceUnavailable, fmt.Errorf("the ledger cannot be used: %w", err))
	}
}

func problem(w http.ResponseWriter, status int, err error) {
	write(w, status, "application/problem+json", map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": err.Error(),
	})
}

func answer(w http.ResponseWriter, v any) { write(w, http.StatusOK, "application/json", v) }

func write(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only values of this package are marshaled
		panic(fmt.Sprintf("gateway: marshal an answer: %v", err))
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
