package ops

import (
	"context"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

type report struct {
	Outbox      outboxReport     `json:"outbox"`
	Consumers   []consumerReport `json:"consumers"`
	Lag         lagReport        `json:"lag"` // how far the lags of the consumers are to be trusted
	DeadLetters []deadLetters    `json:"deadLetters"`
	Stats       map[string]int64 `json:"stats"`
	Gateway     gatewayReport    `json:"gateway"`
	Budget      *budgetReport    `json:"budget,omitempty"`
	Rooms       *roomsReport     `json:"rooms,omitempty"`
	Streams     *streamsReport   `json:"streams,omitempty"` // of this process
	Chat        *chatReport      `json:"chat,omitempty"`    // of this process
}

type outboxReport struct {
	Backlog          int     `json:"backlog"`
	OldestAgeSeconds float64 `json:"oldestAgeSeconds"`
	Published        int64   `json:"published"` // by the relays of all processes
	Failed           int     `json:"failed"`    // parked
	Holder           string  `json:"holder"`
}

type consumerReport struct {
	Topic        string `json:"topic"`
	Group        string `json:"group"`
	State        string `json:"state"` // running, paused, stopped; elsewhere when another process runs it
	InFlight     int    `json:"inFlight"`
	Handled      int64  `json:"handled"`
	Duplicates   int64  `json:"duplicates"` // of those handled, skipped as handled before
	Retried      int64  `json:"retried"`
	DeadLettered int64  `json:"deadLettered"`
	Lag          *int   `json:"lag"` // null when it is not known
	LastError    string `json:"lastError"`
	Apart        bool   `json:"apart,omitempty"` // no part of the books
}

type gatewayReport struct {
	URL       string `json:"url"`
	Reachable bool   `json:"reachable"`
	// The outcomes of this process's own calls; null when others make the calls.
	InFlight  *int64 `json:"inFlight"`
	Approved  *int64 `json:"approved"`
	Declined  *int64 `json:"declined"`
	Refunded  *int64 `json:"refunded"`
	Postponed *int64 `json:"postponed"`

	LastError string          `json:"lastError"`
	Ledger    *payment.Ledger `json:"ledger"`
}

// Report is the state of the box office, in the form of GET /api/admin/ops. The
// answers of the transport and the waiting rooms are as old as the report states:
// Report does not wait for them.
func (o *Ops) Report(ctx context.Context) (any, error) {
	o.watched()
	return o.report(ctx, o.recentFlow)
}

// ReportNow is Report, and asks the transport and the waiting rooms.
func (o *Ops) ReportNow(ctx context.Context) (any, error) {
	if o.rooms != nil {
		o.rooms.look(ctx)
	}
	return o.report(ctx, func(ctx context.Context) (flow, error) {
		f, err := o.flowNow(ctx)
		if err == nil {
			o.showRecent(ctx, f.dead)
		}
		return f, err
	})
}

func (o *Ops) report(ctx context.Context, look func(context.Context) (flow, error)) (any, error) {
	f, err := look(ctx)
	if err != nil {
		return nil, err
	}
	published, err := o.cfg.Published.Total(ctx)
	if err != nil {
		return nil, err
	}
	counters, err := o.cfg.Stats.All(ctx)
	if err != nil {
		return nil, err
	}
	r := report{
		Outbox:      outboxReport{Backlog: f.backlog, Published: published, Failed: f.parked, Holder: f.holder},
		Consumers:   o.consumers(f),
		Lag:         f.lagState,
		DeadLetters: f.dead,
		Stats:       map[string]int64{},
		Gateway:     o.gateway(ctx),
		Budget:      o.budget(ctx, f),
		Rooms:       o.rooms.report(),
		Streams:     o.streams(),
		Chat:        o.chat(),
	}
	if !f.oldest.IsZero() {
		r.Outbox.OldestAgeSeconds = max(0, time.Since(f.oldest).Seconds())
	}
	for name, n := range counters {
		r.Stats[camel(name)] = n
	}
	return r, nil
}

func (o *Ops) consumers(f flow) []consumerReport {
	running := map[[2]string]bus.ConsumerStatus{}
	if o.cfg.Status != nil {
		for _, s := range o.cfg.Status() {
			running[[2]string{s.Topic, s.Group}] = s
		}
	}
	all := make([]consumerReport, 0, len(o.cfg.Consumers))
	for _, c := range o.cfg.Consumers {
		id := c.id()
		r := consumerReport{Topic: c.Topic, Group: c.Group, State: "elsewhere", Apart: c.Apart}
		if s, ok := running[id]; ok {
			r.State, r.InFlight, r.LastError = string(s.State), s.InFlight, s.LastError
			r.Handled, r.Retried, r.DeadLettered = s.Handled, s.Retried, s.DeadLettered
		}
		if o.cfg.Duplicates != nil {
			r.Duplicates = o.cfg.Duplicates(c)
		}
		if f.lagState.known() {
			n := f.lag[id].Messages
			r.Lag = &n
		}
		all = append(all, r)
	}
	return all
}

func (o *Ops) gateway(ctx context.Context) gatewayReport {
	g := gatewayReport{URL: o.cfg.Gateway.URL()}
	if o.cfg.Executor != nil {
		s := o.cfg.Executor()
		g.InFlight, g.Approved, g.Declined, g.Refunded, g.Postponed, g.LastError =
			&s.InFlight, &s.Approved, &s.Declined, &s.Refunded, &s.Postponed, s.LastError
	}
	if l, err := o.cfg.Gateway.Ledger(ctx); err == nil {
		g.Reachable, g.Ledger = true, &l
	} else {
		g.LastError = err.Error()
	}
	return g
}

// camel turns refund_amount into refundAmount.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}
