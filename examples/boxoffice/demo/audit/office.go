package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

// Invariants is the answer of GET /api/admin/invariants.
type Invariants struct {
	OK        bool          `json:"ok"`
	Quiescent bool          `json:"quiescent"`
	Checks    []judge.Check `json:"checks"`
}

// Ops is the part of GET /api/admin/ops that is shown and judged.
type Ops struct {
	Outbox struct {
		Backlog          int64   `json:"backlog"`
		OldestAgeSeconds float64 `json:"oldestAgeSeconds"`
		Published        int64   `json:"published"`
		Failed           int64   `json:"failed"`
		Holder           string  `json:"holder"`
	} `json:"outbox"`
	Consumers []struct {
		Topic        string `json:"topic"`
		Group        string `json:"group"`
		State        string `json:"state"`
		InFlight     int64  `json:"inFlight"`
		Handled      int64  `json:"handled"`
		Duplicates   int64  `json:"duplicates"`
		Retried      int64  `json:"retried"`
		DeadLettered int64  `json:"deadLettered"`
		Lag          int64  `json:"lag"`
		LastError    string `json:"lastError"`
		Apart        bool   `json:"apart"`
	} `json:"consumers"`
	DeadLetters []struct {
		Topic string `json:"topic"`
		Count int64  `json:"count"`
		Apart bool   `json:"apart"`
	} `json:"deadLetters"`
}

// Office asks a box office as its operator.
type Office struct {
	Client *crowd.Client
	Admin  string // admin token
}

// Invariants asks for the box office's own checks.
func (o Office) Invariants(ctx context.Context) (inv Invariants, err error) {
	_, err = o.Client.Do(ctx, crowd.Call{Method: http.MethodGet, Path: "/api/admin/invariants", Token: o.Admin}, &inv)
	return inv, err
}

// Ops asks for the operator's figures, and the transport for its part of them: the
// audit needs current ones.
func (o Office) Ops(ctx context.Context) (ops Ops, err error) {
	_, err = o.Client.Do(ctx, crowd.Call{Method: http.MethodGet, Path: "/api/admin/ops?fresh=true", Token: o.Admin}, &ops)
	return ops, err
}

// ErrRestless means that the box office did not come to rest in time.
var ErrRestless = errors.New("the box office did not come to rest")

// Rest asks until the box office is quiescent, within patience. It returns the
// last answer also when it fails.
func (o Office) Rest(ctx context.Context, patience time.Duration) (inv Invariants, err error) {
	deadline := time.Now().Add(patience)
	for {
		if inv, err = o.Invariants(ctx); err != nil || inv.Quiescent {
			return inv, err
		}
		if time.Now().After(deadline) {
			return inv, fmt.Errorf("%w within %v", ErrRestless, patience)
		}
		if err := crowd.Sleep(ctx, 200*time.Millisecond); err != nil {
			return inv, err
		}
	}
}
