package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// A verdict that cannot be bad proves nothing.
func TestJudge(t *testing.T) {
	l := limits{p99: time.Second, naiveLoses: true}
	good := outboxtest.StressResult{Appended: 10, NaiveLost: 1}
	require.NoError(t, judge.Verdict(l.judge("PostgreSQL", good)), "a good result")
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
		assert.Errorf(t, judge.Verdict(l.judge("PostgreSQL", r)), "%s: no error", name)
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
