package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/ratelimit"
)

// limiter and coalescer return the figures that a test sets.
type (
	limiter   ratelimit.Stats
	coalescer coalesce.Stats
)

func (l limiter) Stats() ratelimit.Stats  { return ratelimit.Stats(l) }
func (c coalescer) Stats() coalesce.Stats { return coalesce.Stats(c) }

var (
	high = ops.Consumer{Topic: "update-priority-high", Group: "high-worker", DeadLetters: "update-dlq", Apart: true}
	low  = ops.Consumer{Topic: "update-priority-low", Group: "low-worker", DeadLetters: "update-dlq", Apart: true}
)

func limits() ratelimit.Limits {
	return ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350, DayLimit: 20_000_000, DayHighReserve: 2_000_000}
}

// withBudget is a desk with artists and a budget.
func withBudget(t *testing.T, b ops.BudgetConfig) *desk {
	t.Helper()
	b.Limits, b.High, b.Low = limits(), high, low
	return newDesk(t, func(c *ops.Config) {
		c.Budget = &b
		for _, consumer := range []ops.Consumer{high, low} {
			c.Consumers = append(c.Consumers, consumer)
			require.NoError(t, c.Bus.Declare(t.Context(), bus.Topic{Name: consumer.Topic, Groups: []string{consumer.Group}}))
		}
	})
}

// budget is the report's part on the budget.
func (d *desk) budget(t *testing.T) string {
	t.Helper()
	report, err := d.ops.ReportNow(t.Context())
	require.NoError(t, err)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	var parts struct{ Budget json.RawMessage }
	require.NoError(t, json.Unmarshal(text, &parts))
	return string(parts.Budget)
}

func TestBudget(t *testing.T) {
	d := withBudget(t, ops.BudgetConfig{
		Limiter: limiter{
			Acquired: [2]uint64{ratelimit.Low: 70, ratelimit.High: 30},
			Rejected: [2]map[ratelimit.Reason]uint64{
				ratelimit.Low:  {"low_cap": 5, "global": 0},
				ratelimit.High: {"global": 2},
			},
			StoreCalls: 9, RPS: 100, Remaining: [2]int{ratelimit.Low: 3, ratelimit.High: 12}, DayUsed: 4711,
			Waiting: [2]int{ratelimit.Low: 8, ratelimit.High: 1}, Breaker: "closed",
		},
		Coalescer: coalescer{Published: 1, Coalesced: 2, Upgraded: 3, Reruns: 4, Conflicts: 5, Obsolete: 6, Refused: 7, Breaker: "closed"},
		Database:  func() string { return "half-open" },
		Calls: func(_ context.Context, n int) ([]meter.Second, error) {
			seconds := make([]meter.Second, n)
			seconds[n-1] = meter.Second{Unix: 1767225600, High: 90, Low: 340}
			return seconds, nil
		},
	})
	for range 3 {
		require.NoError(t, d.bus.Publisher().Publish(low.Topic, message.NewMessage("1", []byte("x"))))
	}
	text := d.budget(t)
	holds(t, "the budget", text,
		`"hardLimit":500,"rate":450,"lowRate":350,"burst":40,"lowBurst":31,"delayMs":20,"strict":false,"dayLimit":20000000,"dayHighReserve":2000000`, `= 500 \u003c= HardLimit 500"`,
		`"granted":{"high":30,"low":70}`, `"denied":{"high":{"global":2},"low":{"global":0,"low_cap":5}}`, `"waiting":{"high":1,"low":8}`,
		`"remaining":{"high":12,"low":3}`, `"dayUsed":4711`,
		`"breakers":{"limiter":"closed","coalescer":"closed","database":"half-open"}`, `"lag":{"high":0,"low":3}`,
		`"coalescer":{"published":1,"coalesced":2,"upgraded":3,"reruns":4,"conflicts":5,"obsolete":6,"refused":7}`,
		`{"at":1767225600,"high":90,"low":340}]`, `"callsError":""`,
	)
	assert.Equal(t, 60, strings.Count(text, `"at":`), "seconds of calls")
}

// Values that a process does not know are null, not zero.
func TestBudgetUnknown(t *testing.T) {
	idle := ratelimit.Stats{StoreCalls: 3, Remaining: [2]int{7, 7}, Breaker: "closed"}
	open := ratelimit.Stats{StoreCalls: 3, RPS: 9, Remaining: [2]int{7, 7}, Breaker: "open"}
	starved := ratelimit.Stats{StoreCalls: 3, Waiting: [2]int{1, 0}, Breaker: "closed"}
	for name, c := range map[string]struct {
		cfg  ops.BudgetConfig
		want []string
	}{
		"no part of it": {ops.BudgetConfig{}, []string{
			`"granted":null,"denied":null,"waiting":null,"remaining":null,"dayUsed":null,"breakers":{"limiter":null,"coalescer":null,"database":null}`,
			`"coalescer":null,"calls":null,"callsError":"this process does not know them"`, `"rate":450`,
		}},
		"a limiter that nobody asks":     {ops.BudgetConfig{Limiter: limiter(idle)}, []string{`"granted":{"high":0,"low":0}`, `"remaining":null,"dayUsed":null`, `"limiter":"closed"`}},
		"a limiter without its store":    {ops.BudgetConfig{Limiter: limiter(open)}, []string{`"remaining":null`, `"limiter":"open"`}},
		"a limiter with nothing to give": {ops.BudgetConfig{Limiter: limiter(starved)}, []string{`"remaining":{"high":0,"low":0}`}},
		"calls that cannot be read": {ops.BudgetConfig{Calls: func(context.Context, int) ([]meter.Second, error) {
			return nil, errors.New("meter: series: no answer")
		}}, []string{`"calls":null,"callsError":"meter: series: no answer"`}},
	} {
		t.Run(name, func(t *testing.T) { holds(t, "the budget", withBudget(t, c.cfg).budget(t), c.want...) })
	}
	assert.Equal(t, "", newDesk(t, nil).budget(t), "without a budget the report has one")
}

// The artists' groups are always at work, and each artist that the upstream does not
// have is a dead letter: the books judge neither.
func TestConsumersApart(t *testing.T) {
	d := withBudget(t, ops.BudgetConfig{})
	publish := func(topic string) {
		t.Helper()
		require.NoError(t, d.bus.Publisher().Publish(topic, message.NewMessage("1", []byte("x"))))
	}
	publish(high.Topic)
	publish("update-dlq")
	if a := d.audit(t); !a.OK || !a.Quiescent {
		t.Errorf("with artists under way: %+v", a)
	}
	report, err := d.ops.ReportNow(t.Context())
	require.NoError(t, err)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	holds(t, "the report", string(text), `"group":"high-worker","state":"elsewhere"`, `"lag":1,"lastError":"","apart":true`, `{"topic":"update-dlq","count":1,`)
	publish("payment.events")
	publish("dlq.payment")
	if a := d.audit(t); a.OK || a.Quiescent || strings.Join(broken(a), " ") != "consumers-drained no-dead-letters" {
		t.Errorf("with payments under way: %+v", a)
	}
}

func TestBudgetIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ops.BudgetConfig)
		want   string
	}{
		"limits that cannot hold": {func(b *ops.BudgetConfig) { b.Limits.Rate = 500 }, "cannot hold HardLimit"},
		"an unknown group":        {func(b *ops.BudgetConfig) { b.Low.Group = "other" }, "Config.Budget.Low is other of update-priority-low"},
	} {
		newDesk(t, func(cfg *ops.Config) {
			wrong := *cfg
			b := ops.BudgetConfig{Limits: limits(), High: high, Low: low}
			c.change(&b)
			wrong.Budget = &b
			wrong.Consumers = append(wrong.Consumers[:len(wrong.Consumers):len(wrong.Consumers)], high, low)
			if _, err := ops.New(wrong); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}
