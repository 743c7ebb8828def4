package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// A verdict that cannot be bad proves nothing.
func TestJudge(t *testing.T) {
	l := limits{p99: time.Second, naiveLoses: true}
	good := outboxtest.StressResult{Appended: 10, NaiveLost: 1}
	if err := judge.Verdict(l.judge("PostgreSQL", good)); err != nil {
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
		if judge.Verdict(l.judge("PostgreSQL", r)) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// An error of one database leaves the others judged, and is no proof.
func TestUnfinished(t *testing.T) {
	for _, v := range []string{"MILLRACE_POSTGRES_URL", "MILLRACE_MARIADB_URL", "MILLRACE_MYSQL_URL"} {
		t.Setenv(v, "")
	}
	checks := run(t.Context(), outboxtest.StressConfig{Duration: 100 * time.Millisecond, Writers: 2, UnrelatedFor: 2 * time.Second})
	if len(checks) != 6 || !errors.Is(judge.Verdict(checks[:3]), judge.ErrNoProof) || !strings.Contains(checks[0].Detail, "MILLRACE_POSTGRES_URL is not set") {
		t.Errorf("%+v", checks)
	}
}
