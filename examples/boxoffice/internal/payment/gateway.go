package payment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxAnswer bounds the bytes read of one answer of the gateway.
	maxAnswer = 4 << 20
	// auditTimeout bounds one call of an audit: no payment waits for it, and a page of
	// the ledger is large.
	auditTimeout = 5 * time.Second
)

// Charge is a charge as the gateway knows it. Status is APPROVED, DECLINED or
// PENDING.
type Charge struct {
	Key       string    `json:"key"`
	ID        string    `json:"id"`
	Status    string    `json:"status"`
	Reason    string    `json:"reason"`
	Amount    int64     `json:"amount"`
	Reference string    `json:"reference"`
	Refunded  bool      `json:"refunded"`
	CreatedAt time.Time `json:"createdAt"`
}

// Ledger is the gateway's own count of one moment. Approved counts refunded
// charges too.
type Ledger struct {
	Charges             int64 `json:"charges"`
	Approved            int64 `json:"approved"`
	Declined            int64 `json:"declined"`
	Pending             int64 `json:"pending"`
	Refunded            int64 `json:"refunded"`
	DuplicateKeys       int64 `json:"duplicateKeys"`
	DuplicateReferences int64 `json:"duplicateReferences"`
	ApprovedAmount      int64 `json:"approvedAmount"`
	RefundedAmount      int64 `json:"refundedAmount"`
}

var errNoCharge = errors.New("payment: the gateway knows no charge of this key")

// refusedError is the gateway's answer that it will never accept this POST. A refused GET decides nothing.
type refusedError struct {
	code   int
	detail string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("payment: the gateway refuses (%d): %s", e.code, e.detail)
}

// Gateway is a client of the payment gateway. It is safe for concurrent use.
type Gateway struct {
	url     string
	timeout time.Duration
	http    *http.Client
}

// NewGateway makes a client of the gateway at url. timeout bounds each call,
// and connections is how many calls at once keep their connection.
func NewGateway(url string, timeout time.Duration, connections int) *Gateway {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     30 * time.Second,
	}
	return &Gateway{url: strings.TrimRight(url, "/"), timeout: timeout, http: &http.Client{Transport: t}}
}

// URL is where the gateway is.
func (g *Gateway) URL() string { return g.url }

// Close closes idle connections.
func (g *Gateway) Close() { g.http.CloseIdleConnections() }

func (g *Gateway) charge(ctx context.Context, key string, amount int64, card, reference string) (Charge, error) {
	return g.call(ctx, http.MethodPost, "/charges", key, map[string]any{
		"amount": amount, "currency": "KRW", "card": card, "reference": reference,
	})
}

func (g *Gateway) find(ctx context.Context, key string) (Charge, error) {
	return g.call(ctx, http.MethodGet, pathOf(key), key, nil)
}

func (g *Gateway) refund(ctx context.Context, key string) (Charge, error) {
	return g.call(ctx, http.MethodPost, pathOf(key)+"/refund", key, nil)
}

// pathOf is the path of a key's charge. Dots are escaped too: a key of one or two dots
// would be a step in the path.
func pathOf(key string) string {
	return "/charges/" + strings.ReplaceAll(url.PathEscape(key), ".", "%2E")
}

// Ledger asks for the gateway's totals.
func (g *Gateway) Ledger(ctx context.Context) (l Ledger, err error) {
	return l, g.audit(ctx, "/ledger", &l)
}

// Charges calls each with every charge of the ledger, oldest first.
func (g *Gateway) Charges(ctx context.Context, each func(Charge)) error {
	for after := int64(0); ; {
		var page struct {
			Charges []Charge `json:"charges"`
			Next    int64    `json:"next"`
		}
		path := "/ledger/charges?limit=1000&after=" + strconv.FormatInt(after, 10)
		if err := g.audit(ctx, path, &page); err != nil {
			return err
		}
		for _, c := range page.Charges {
			each(c)
		}
		switch {
		case page.Next == 0:
			return nil
		case page.Next <= after:
			return fmt.Errorf("payment: the page of the gateway's ledger after %d says that %d is next", after, page.Next)
		}
		after = page.Next
	}
}

func (g *Gateway) audit(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, max(g.timeout, auditTimeout))
	defer cancel()
	return g.send(ctx, http.MethodGet, path, "", nil, into)
}

// call makes one request about a charge. An answer about another charge says nothing of it.
func (g *Gateway) call(ctx context.Context, method, path, key string, body any) (c Charge, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	if err = g.send(ctx, method, path, key, body, &c); err == nil && c.Key != key {
		err = fmt.Errorf("payment: the gateway answers about the key %q instead of the payment's", c.Key)
	}
	return c, err
}

// send makes one request. Any error but a refusal, or errNoCharge, means that
// the outcome is not known.
func (g *Gateway) send(ctx context.Context, method, path, key string, body, into any) error {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("payment: marshal a request: %w", err)
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, g.url+path, text)
	if err != nil {
		return fmt.Errorf("payment: gateway: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		// With this header net/http also knows that the request may be repeated when a kept
		// connection turns out to be closed.
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := g.http.Do(req)
	if err != nil {
		return fmt.Errorf("payment: gateway: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("payment: gateway: read the answer: %w", err)
	}
	switch {
	case res.StatusCode == http.StatusOK:
		if err := json.Unmarshal(answer, into); err != nil {
			return fmt.Errorf("payment: gateway: the answer is not what was agreed: %w", err)
		}
		return nil
	case res.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return errNoCharge
	case method == http.MethodPost && slices.Contains([]int{400, 409, 422}, res.StatusCode):
		return &refusedError{res.StatusCode, detail(answer)}
	}
	return fmt.Errorf("payment: gateway: %s %s answers %s", method, strings.SplitN(path, "/", 3)[1], res.Status)
}

// maxDetail is how much of a refusal goes into the log, in bytes.
const maxDetail = 200

// detail is the sentence of a problem document, bounded.
func detail(answer []byte) string {
	var p struct{ Detail string }
	if json.Unmarshal(answer, &p) != nil || p.Detail == "" {
		p.Detail = string(answer)
	}
	return strings.ToValidUTF8(p.Detail[:min(len(p.Detail), maxDetail)], "") // a cut may go through a character
}
