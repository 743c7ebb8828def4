package main

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// A verdict that cannot be bad proves nothing.
func TestJudge(t *testing.T) {
	l := limits{p99: time.Second, naiveLoses: true}
	good := outboxtest.StressResult{Appended: 10, NaiveLost: 1}
	if err := l.judge(good); err != nil {
		t.Fatalf("a good result: %v", err)
	}
	for name, spoil := range map[string]func(*outboxtest.StressResult){
		"nothing committed": func(r *outboxtest.StressResult) { r.Appended = 0 },
		"lost":              func(r *outboxtest.StressResult) { r.Lost = 1 },
		"uncommitted":       func(r *outboxtest.StressResult) { r.Uncommitted = 1 },
		"duplicated":        func(r *outboxtest.StressResult) { r.Duplicated = 1 },
		"inverted":          func(r *outboxtest.StressResult) { r.Inverted = 1 },
		"control lost none": func(r *outboxtest.StressResult) { r.NaiveLost = 0 },
		"slow":              func(r *outboxtest.StressResult) { r.P99 = 2 * time.Second },
	} {
		r := good
		spoil(&r)
		if l.judge(r) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
