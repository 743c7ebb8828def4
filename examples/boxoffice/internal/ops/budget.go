package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// BudgetConfig has the sources of a report on the upstream's budget. Limits, High and
// Low are required; the others are nil in a process without such a part, and their
// values are null in its reports.
type BudgetConfig struct {
	// Limits are the limits of every process's limiter.
	Limits ratelimit.Limits
	// Limiter is a [ratelimit.Limiter].
	Limiter interface{ Stats() ratelimit.Stats }
	// Coalescer is a [coalesce.Coalescer].
	Coalescer interface{ Stats() coalesce.Stats }
	// Calls returns the calls of the last n seconds, over all processes: the method
	// Series of a [meter.Meter]. Each report asks for a minute of them and waits for the
	// answer.
	Calls func(ctx context.Context, n int) ([]meter.Second, error)
	// Database is the state of the breaker before the artists' tables: "closed",
	// "half-open" or "open".
	Database func() string
	// High and Low are the groups that make the calls, by topic and name. They
	// are among Config.Consumers.
	High, Low Consumer
}

func newBudget(c *BudgetConfig, consumers []Consumer) (*budget, error) {
	plan, err := c.Limits.Plan()
	if err != nil {
		return nil, fmt.Errorf("ops: Config.Budget.Limits: %w", err)
	}
	for name, of := range map[string]Consumer{"High": c.High, "Low": c.Low} {
		if !slices.ContainsFunc(consumers, func(other Consumer) bool { return other.Topic == of.Topic && other.Group == of.Group }) {
			return nil, fmt.Errorf("ops: Config.Budget.%s is %s of %s, which is not among Consumers; add it", name, of.Group, of.Topic)
		}
	}
	return &budget{c, plan}, nil
}

// callsShown is how many seconds of calls a report has.
const callsShown = 60

// budgetReport is the state of the budget. Unknown values are null.
type budgetReport struct {
	Plan planReport `json:"plan"`
	// The figures of this process's limiter.
	Granted   *byPriority[uint64]            `json:"granted"`
	Denied    *byPriority[map[string]uint64] `json:"denied"` // by reason
	Waiting   *byPriority[int]               `json:"waiting"`
	Remaining *byPriority[int]               `json:"remaining"` // available to each at once
	DayUsed   *int64                         `json:"dayUsed"`   // by all processes
	Breakers  breakersReport                 `json:"breakers"`
	Lag       byPriority[*int]               `json:"lag"`
	Coalescer *coalescerReport               `json:"coalescer"`
	// Calls of the last minute by all processes, oldest first.
	Calls      []meter.Second `json:"calls"`
	CallsError string         `json:"callsError"` // why there are none
}

type byPriority[T any] struct {
	High T `json:"high"`
	Low  T `json:"low"`
}

type planReport struct {
	HardLimit      int     `json:"hardLimit"` // calls per second
	Rate           int     `json:"rate"`
	LowRate        int     `json:"lowRate"`
	Burst          int     `json:"burst"` // calls at once
	LowBurst       int     `json:"lowBurst"`
	DelayMs        float64 `json:"delayMs"`
	Strict         bool    `json:"strict"`
	DayLimit       *int64  `json:"dayLimit"` // null when there is none
	DayHighReserve *int64  `json:"dayHighReserve"`
	Arithmetic     string  `json:"arithmetic"`
}

type breakersReport struct {
	Limiter   *string `json:"limiter"`
	Coalescer *string `json:"coalescer"`
	Database  *string `json:"database"`
}

type coalescerReport struct {
	Published int64 `json:"published"`
	Coalesced int64 `json:"coalesced"`
	Upgraded  int64 `json:"upgraded"`
	Reruns    int64 `json:"reruns"`
	Conflicts int64 `json:"conflicts"`
	Obsolete  int64 `json:"obsolete"`
	Refused   int64 `json:"refused"`
}

// budget is the budget of the artists' upstream.
type budget struct {
	cfg  *BudgetConfig
	plan *driver.Plan
}

// report describes the budget; nil when nothing is known of one.
func (b *budget) report(ctx context.Context, f flow) *budgetReport {
	if b == nil {
		return nil
	}
	c := b.cfg
	r := &budgetReport{Plan: b.planned()}
	if c.Limiter != nil {
		r.limiter(c.Limiter.Stats(), b.plan.Day.Limit > 0)
	}
	if c.Coalescer != nil {
		s := c.Coalescer.Stats()
		r.Breakers.Coalescer = &s.Breaker
		r.Coalescer = &coalescerReport{s.Published, s.Coalesced, s.Upgraded, s.Reruns, s.Conflicts, s.Obsolete, s.Refused}
	}
	if c.Database != nil {
		state := c.Database()
		r.Breakers.Database = &state
	}
	if f.lagState.known() {
		high, low := f.lag[c.High.id()].Messages, f.lag[c.Low.id()].Messages
		r.Lag = byPriority[*int]{&high, &low}
	}
	r.calls(ctx, c.Calls)
	return r
}

func (b *budget) planned() planReport {
	p, l := b.plan, b.cfg.Limits
	r := planReport{
		HardLimit: l.HardLimit, Rate: p.Rate, LowRate: p.LowRate, Burst: p.Burst, LowBurst: p.LowBurst,
		DelayMs: float64(p.Delay) / float64(time.Millisecond), Strict: p.Strict, Arithmetic: p.Arithmetic,
	}
	if p.Day.Limit > 0 {
		r.DayLimit, r.DayHighReserve = &p.Day.Limit, &p.Day.HighReserve
	}
	return r
}

// limiter adds the figures of a limiter. The last answer of its store is outdated
// when the store has not been asked for a second: others may have taken from the
// buckets, or time filled them.
func (r *budgetReport) limiter(s ratelimit.Stats, daily bool) {
	const low, high = ratelimit.Low, ratelimit.High
	state := string(s.Breaker)
	r.Breakers.Limiter = &state
	r.Granted = &byPriority[uint64]{s.Acquired[high], s.Acquired[low]}
	r.Denied = &byPriority[map[string]uint64]{byReason(s.Rejected[high]), byReason(s.Rejected[low])}
	r.Waiting = &byPriority[int]{s.Waiting[high], s.Waiting[low]}
	asks := s.RPS > 0 || s.Waiting[high]+s.Waiting[low] > 0
	if asks && s.Breaker == "closed" {
		r.Remaining = &byPriority[int]{s.Remaining[high], s.Remaining[low]}
	}
	if daily && s.DayUsed > 0 {
		r.DayUsed = &s.DayUsed
	}
}

func byReason(counts map[ratelimit.Reason]uint64) map[string]uint64 {
	out := make(map[string]uint64, len(counts))
	for reason, n := range counts {
		out[string(reason)] = n
	}
	return out
}

// calls adds the calls of the last minute, or the reason why they are not known.
func (r *budgetReport) calls(ctx context.Context, last func(context.Context, int) ([]meter.Second, error)) {
	err := errors.New("this process does not know them")
	if last != nil {
		r.Calls, err = last(ctx, callsShown)
	}
	if err != nil {
		r.Calls, r.CallsError = nil, err.Error()
	}
}
