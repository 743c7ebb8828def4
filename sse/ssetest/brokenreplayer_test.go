package ssetest_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/ssetest"
)

const tableBound = 5

// table is a Replayer in memory. A defect changes its answers.
type table struct {
	stored int
	defect func(t *table, since sse.Cursors, missed *sse.Missed)
}

func (t *table) Replay(ctx context.Context, since sse.Cursors) (sse.Missed, error) {
	if t.defect == nil && ctx.Err() != nil {
		return sse.Missed{}, ctx.Err()
	}
	last, _ := strconv.Atoi(since["notification"]) // of a new client 0
	missed := sse.Missed{Left: map[string]int{"notification": max(0, t.stored-last-tableBound)}}
	for id := max(last, t.stored-tableBound) + 1; id <= t.stored; id++ {
		missed.Events = append(missed.Events, sse.Event{Name: "notification", ID: strconv.Itoa(id)})
	}
	if t.defect != nil {
		t.defect(t, since, &missed)
	}
	return missed, nil
}

func (t *table) harness() ssetest.ReplayerHarness {
	return ssetest.ReplayerHarness{Replayer: t.Replay, Event: "notification", Bound: tableBound, Store: func(context.Context) (string, error) {
		t.stored++
		return strconv.Itoa(t.stored), nil
	}}
}

func TestACorrectReplayer(t *testing.T) {
	ssetest.RunReplayer(t, func(*testing.T) ssetest.ReplayerHarness { return (&table{}).harness() })
}

func TestEveryReplayerCaseCatchesADefect(t *testing.T) {
	var mutants []conformance.Mutant[ssetest.ReplayerHarness]
	for _, d := range []struct {
		name   string
		by     []string
		defect func(t *table, since sse.Cursors, missed *sse.Missed)
	}{
		{"says nothing of what it leaves out", []string{"what-is-left-out-is-counted"}, func(_ *table, _ sse.Cursors, missed *sse.Missed) { missed.Left = nil }},
		{"counts what it returns too", []string{"all-after-the-cursor", "what-is-left-out-is-counted"}, func(_ *table, _ sse.Cursors, missed *sse.Missed) {
			missed.Left["notification"] += len(missed.Events)
		}},
		{"repeats the last", []string{"nothing-missed"}, func(_ *table, since sse.Cursors, missed *sse.Missed) {
			missed.Events = append([]sse.Event{{Name: "notification", ID: since["notification"]}}, missed.Events...)
		}},
		{"has the newest first", []string{"all-after-the-cursor", "a-new-client-sees-the-newest"}, func(_ *table, _ sse.Cursors, missed *sse.Missed) { slices.Reverse(missed.Events) }},
		{"keeps the oldest", []string{"what-is-left-out-is-counted"}, func(_ *table, since sse.Cursors, missed *sse.Missed) {
			last, _ := strconv.Atoi(since["notification"])
			for i := range missed.Events {
				missed.Events[i].ID = strconv.Itoa(last + 1 + i)
			}
		}},
		{"heeds no context", []string{"replaying-heeds-its-context"}, func(_ *table, _ sse.Cursors, missed *sse.Missed) { missed.Events = nil }},
	} {
		mutants = append(mutants, conformance.Mutant[ssetest.ReplayerHarness]{
			Name: d.name, Cases: d.by, Open: func(*testing.T) ssetest.ReplayerHarness { return (&table{defect: d.defect}).harness() },
		})
	}
	ssetest.ReplayerSuite().Mutants(t, mutants)
}
