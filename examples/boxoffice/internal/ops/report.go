package ops

import (
	"context"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
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
	Chat        *chat.Stats      `json:"chat,omitempty"`    // of this process
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

// Reports describe the state of the box office.
type Reports struct {
	cfg       Config
	traffic   *traffic
	attention *attention
	budget    *budget // nil without one
	rooms     *rooms  // nil without waiting rooms
}

func newReports(cfg Config, t *traffic, a *attention) (*Reports, error) {
	r := &Reports{cfg: cfg, traffic: t, attention: a}
	if cfg.Budget != nil {
		var err error
		if r.budget, err = newBudget(cfg.Budget, cfg.Consumers); err != nil {
			return nil, err
		}
	}
	if cfg.Rooms != nil {
		if err := cfg.Rooms.validate(); err != nil {
			return nil, err
		}
		r.rooms = newRooms(cfg.Rooms, a)
	}
	return r, nil
}

// Report is the state of the box office, in the form of GET /api/admin/ops. The
// answers of the transport and the waiting rooms are as old as the report states:
// Report does not wait for them.
func (r *Reports) Report(ctx context.Context) (any, error) {
	r.attention.pay()
	return r.report(ctx, r.traffic.recent)
}

// ReportNow is Report, and asks the transport and the waiting rooms.
func (r *Reports) ReportNow(ctx context.Context) (any, error) {
	if r.rooms != nil {
		r.rooms.look(ctx)
	}
	return r.report(ctx, func(ctx context.Context) (flow, error) {
		f, err := r.traffic.now(ctx)
		if err == nil {
			r.traffic.letters.showRecent(ctx, f.dead)
		}
		return f, err
	})
}

func (r *Reports) report(ctx context.Context, look func(context.Context) (flow, error)) (any, error) {
	f, err := look(ctx)
	if err != nil {
		return nil, err
	}
	published, err := r.cfg.Published.Total(ctx)
	if err != nil {
		return nil, err
	}
	counters, err := r.cfg.Stats.All(ctx)
	if err != nil {
		return nil, err
	}
	out := report{
		Outbox:      outboxReport{Backlog: f.backlog, Published: published, Failed: f.parked, Holder: f.holder},
		Consumers:   r.consumers(f),
		Lag:         f.lagState,
		DeadLetters: f.dead,
		Stats:       map[string]int64{},
		Gateway:     r.gateway(ctx),
		Budget:      r.budget.report(ctx, f),
		Rooms:       r.rooms.report(),
		Streams:     reportStreams(r.cfg.Streams),
	}
	if r.cfg.Chat != nil {
		s := r.cfg.Chat()
		out.Chat = &s
	}
	if !f.oldest.IsZero() {
		out.Outbox.OldestAgeSeconds = max(0, time.Since(f.oldest).Seconds())
	}
	for name, n := range counters {
		out.Stats[camel(name)] = n
	}
	return out, nil
}

func (r *Reports) consumers(f flow) []consumerReport {
	running := map[[2]string]bus.ConsumerStatus{}
	if r.cfg.Status != nil {
		for _, s := range r.cfg.Status() {
			running[[2]string{s.Topic, s.Group}] = s
		}
	}
	all := make([]consumerReport, 0, len(r.cfg.Consumers))
	for _, c := range r.cfg.Consumers {
		id := c.id()
		one := consumerReport{Topic: c.Topic, Group: c.Group, State: "elsewhere", Apart: c.Apart}
		if s, ok := running[id]; ok {
			one.State, one.InFlight, one.LastError = stateOf(s), s.InFlight, s.LastError
			one.Handled, one.Retried, one.DeadLettered = s.Handled, s.Retried, s.DeadLettered
		}
		if r.cfg.Duplicates != nil {
			one.Duplicates = r.cfg.Duplicates(c)
		}
		if f.lagState.known() {
			n := f.lag[id].Messages
			one.Lag = &n
		}
		all = append(all, one)
	}
	return all
}

func (r *Reports) gateway(ctx context.Context) gatewayReport {
	g := gatewayReport{URL: r.cfg.Gateway.URL()}
	if r.cfg.Executor != nil {
		s := r.cfg.Executor()
		g.InFlight, g.Approved, g.Declined, g.Refunded, g.Postponed, g.LastError =
			&s.InFlight, &s.Approved, &s.Declined, &s.Refunded, &s.Postponed, s.LastError
	}
	if l, err := r.cfg.Gateway.Ledger(ctx); err == nil {
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

// stateOf names the state of a consumer of this process.
func stateOf(s bus.ConsumerStatus) string {
	switch {
	case s.Paused:
		return "paused"
	case s.Held:
		return "held"
	case s.Running:
		return "running"
	}
	return "stopped"
}
