package queue_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

func TestConfigSaysWhatIsWrong(t *testing.T) {
	hourly := []queue.Interval{{UpTo: math.MaxInt, Every: time.Hour}}
	for want, cfg := range map[string]queue.Config{
		"Config.Threshold":          {Threshold: -1},
		"Config.Active":             {Active: -1},
		"Config.NoShow":             {NoShow: time.Millisecond},
		"Config.Tick":               {Tick: -1},
		"Config.Batch":              {Batch: -1},
		"Config.SweepEvery":         {SweepEvery: -1},
		"Config.Settle":             {Settle: -1},
		"Config.Refresh":            {Refresh: -1},
		"Config.MaxStale":           {MaxStale: time.Millisecond},
		"Config.Timeout":            {Timeout: -1},
		"Config.MaxEvents":          {MaxEvents: -1},
		"Config.Concurrency":        {Concurrency: -1},
		"at least 3m18s":            {Seen: 190 * time.Second},
		"at least 3h18m0s":          {Seen: 3 * time.Hour, Intervals: hourly},
		"at least 2m30s":            {Seen: time.Minute, Intervals: []queue.Interval{{UpTo: math.MaxInt, Every: time.Second}}},
		"Config.Intervals[0].Every": {Intervals: []queue.Interval{{UpTo: math.MaxInt}}},
		"Config.Intervals[1].UpTo":  {Intervals: []queue.Interval{{UpTo: 5, Every: 1}, {UpTo: 5, Every: 1}}},
		"Config.Keep":               {Keep: time.Minute},
		"Config.Lanes[0].Name":      {Lanes: []queue.Lane{{Name: "a b", Share: 0.1}}},
		"Config.Lanes[1].Share":     {Lanes: []queue.Lane{{Name: "a", Share: 0.1}, {Name: "b"}}},
		"\"a\" twice":               {Lanes: []queue.Lane{{Name: "a", Share: 0.1}, {Name: "a", Share: 0.1}}},
		"less than 0.75":            {Lanes: []queue.Lane{{Name: "a", Share: 0.5}, {Name: "b", Share: 0.25}}},
		"at most 8":                 {Lanes: make([]queue.Lane, 9)},
		"ends at position 5":        {Intervals: []queue.Interval{{UpTo: 5, Every: 1}}},
	} {
		_, err := queue.New(newSpy(t), ring(t), cfg)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "queue: ") {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := queue.New(nil, ring(t), queue.Config{}); err == nil {
		t.Error("a nil store was taken")
	}
	if _, err := queue.New(newSpy(t), nil, queue.Config{}); err == nil {
		t.Error("a nil key ring was taken")
	}
}

func TestConfigDefaults(t *testing.T) {
	store := &rules{spy: newSpy(t)}
	check(t, open(t, store, queue.Config{}), "a", "")
	want := driver.Rules{
		Threshold: 1000, Active: 600 * time.Second, Seen: 600 * time.Second, NoShow: 150 * time.Second,
		Tick: time.Second, Batch: 100, SweepEvery: 30 * time.Second, Settle: 70 * time.Second, Turn: 3100 * time.Millisecond,
		Keep: time.Hour,
	}
	require.Equal(t, want, store.seen)
	// A batch that reaches far calls users that were told to poll less often.
	check(t, open(t, store, queue.Config{Batch: 1000}), "a", "")
	assert.Equal(t, 35*time.Second, store.seen.Turn, "with a batch of 1,000")
}

// rules records the rules that come with a visit.
type rules struct {
	*spy
	seen driver.Rules
}

func (s *rules) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, v []driver.Visit) (driver.Visited, error) {
	s.seen = r
	return s.spy.Visit(ctx, event, r, b, v)
}
