package outboxstress

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Short runs of what `make stress` does for longer.
var short = Config{Duration: 3 * time.Second, Foreign: 2 * time.Second}

func TestOutOfOrderCommitsPostgres(t *testing.T) {
	target, done, err := Postgres(t.Context(), servicetest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	check(t, target, done)
}

func TestOutOfOrderCommitsSQLite(t *testing.T) {
	target, done, err := SQLite(t.Context(), filepath.Join(t.TempDir(), "stress.db"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, target, done)
}

func check(t *testing.T, target Target, done func() error) {
	t.Helper()
	defer func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	}()
	r, err := Run(t.Context(), target, short)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if err := r.Verdict(target); err != nil {
		t.Error(err)
	}
}

// A verdict that cannot be bad proves nothing.
func TestVerdict(t *testing.T) {
	target := Target{NaiveLoses: true, Bound: time.Second}
	good := Result{Committed: 10, NaiveLost: 1}
	for name, spoil := range map[string]func(*Result){
		"nothing committed": func(r *Result) { r.Committed = 0 },
		"lost":              func(r *Result) { r.Lost = 1 },
		"duplicated":        func(r *Result) { r.Duplicated = 1 },
		"inverted":          func(r *Result) { r.Inverted = 1 },
		"phantom":           func(r *Result) { r.Phantom = 1 },
		"control lost none": func(r *Result) { r.NaiveLost = 0 },
		"slow":              func(r *Result) { r.P99 = 2 * time.Second },
	} {
		r := good
		if err := r.Verdict(target); err != nil {
			t.Fatalf("a good result: %v", err)
		}
		spoil(&r)
		if r.Verdict(target) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
