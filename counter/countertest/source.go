package countertest

import (
	"context"
	"fmt"
	"testing"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// SourceHarness is a source under test.
type SourceHarness struct {
	Source driver.Source
	// Append commits change rows.
	Append func(ctx context.Context, changes ...counter.Change) error
	// Begin writes a change row in a transaction, and returns functions that end it; nil if
	// only one transaction can write at a time.
	Begin func(ctx context.Context, c counter.Change) (commit, rollback func() error, err error)
}

// The needs of cases of a source; n/a lines print these texts.
const (
	NeedBegin   conformance.Need = "one transaction at a time can write (SourceHarness.Begin is nil)"
	NeedTrimmer conformance.Need = "the source is no counter.Trimmer"
)

// RunSource runs every case as a subtest, each on its own harness.
func RunSource(t *testing.T, open func(t *testing.T) SourceHarness) {
	t.Helper()
	SourceSuite().Run(t, open)
}

// SourceSuite returns the guarantees of a source.
func SourceSuite() conformance.Suite[SourceHarness] {
	begins, trims := []conformance.Need{NeedBegin}, []conformance.Need{NeedTrimmer}
	return conformance.Suite[SourceHarness]{
		Cases: []conformance.Case[SourceHarness]{
			{Name: "Empty", Run: emptySource},
			{Name: "InOrder", Run: inOrder},
			{Name: "LateCommit", Needs: begins, Run: lateCommit},
			{Name: "RolledBack", Needs: begins, Run: rolledBack},
			{Name: "Trim", Needs: trims, Run: trim},
		},
		Lacks: func(h SourceHarness, n conformance.Need) bool {
			_, trimmer := h.Source.(driver.Trimmer)
			return n == NeedBegin && h.Begin == nil || n == NeedTrimmer && !trimmer
		},
	}
}

// most is more than any case appends.
const most = 1000

// read reads to the end, and returns the keys.
func read(ctx context.Context, s driver.Source, at *string, limit int) ([]string, error) {
	var keys []string
	for {
		changes, next, err := s.Read(ctx, *at, limit)
		if err != nil {
			return keys, err
		}
		if len(changes) > limit {
			return keys, fmt.Errorf("%d changes, want at most %d", len(changes), limit)
		}
		for _, c := range changes {
			keys = append(keys, fmt.Sprint(c.Key, c.N))
		}
		if len(keys) > most {
			return keys[:10], fmt.Errorf("more than %d changes, where there are a few; it begins with %q", most, keys[:10])
		}
		if *at = next; len(changes) < limit {
			return keys, nil
		}
	}
}

func readIs(ctx context.Context, s driver.Source, at *string, limit int, want ...string) error {
	got, err := read(ctx, s, at, limit)
	if err != nil {
		return err
	}
	return expect("read", got, want)
}

func emptySource(ctx context.Context, h SourceHarness) (err error) {
	defer steps.End(&err)
	at := ""
	for range 2 {
		steps.Do(readIs(ctx, h.Source, &at, 10))
	}
	steps.Do(h.Append(ctx, counter.Change{Key: "a", N: 1}))
	return readIs(ctx, h.Source, &at, 10, "a1")
}

func inOrder(ctx context.Context, h SourceHarness) (err error) {
	defer steps.End(&err)
	var want []string
	for i := range 7 {
		c := counter.Change{Key: fmt.Sprint("k", i, "-"), N: int64(1 - 2*(i%2))}
		want = append(want, fmt.Sprint(c.Key, c.N))
		steps.Do(h.Append(ctx, c))
	}
	for _, limit := range []int{1, 3, 7, 100} {
		at := ""
		steps.Named(readIs(ctx, h.Source, &at, limit, want...), "%d at a time", limit)
		steps.Named(readIs(ctx, h.Source, &at, limit), "%d at a time, once more", limit)
	}
	return nil
}

func lateCommit(ctx context.Context, h SourceHarness) (err error) {
	defer steps.End(&err)
	commit, rollback := steps.Two(h.Begin(ctx, counter.Change{Key: "late", N: 1}))
	at := ""
	early := func() error {
		if err := h.Append(ctx, counter.Change{Key: "early", N: 1}); err != nil {
			return err
		}
		return readIs(ctx, h.Source, &at, 10, "early1")
	}
	if err := early(); err != nil {
		rollback() //nolint:errcheck // the case has failed
		return err
	}
	steps.Do(commit())
	return readIs(ctx, h.Source, &at, 10, "late1")
}

func rolledBack(ctx context.Context, h SourceHarness) (err error) {
	defer steps.End(&err)
	_, rollback := steps.Two(h.Begin(ctx, counter.Change{Key: "never", N: 1}))
	steps.Do(rollback())
	steps.Do(h.Append(ctx, counter.Change{Key: "a", N: 1}))
	at := ""
	return readIs(ctx, h.Source, &at, 10, "a1")
}

func trim(ctx context.Context, h SourceHarness) (err error) {
	defer steps.End(&err)
	for i := range 5 {
		steps.Do(h.Append(ctx, counter.Change{Key: "a", N: int64(i + 1)}))
	}
	changes, at, err := h.Source.Read(ctx, "", 3)
	if err != nil || len(changes) != 3 {
		return fmt.Errorf("read %d changes (%v), want 3", len(changes), err)
	}
	trimmer := h.Source.(driver.Trimmer)
	if n, err := trimmer.Trim(ctx, at, long, 1000); err != nil || n != 0 {
		return fmt.Errorf("dropped %d young changes (%v)", n, err)
	}
	steps.Get(trimmer.Trim(ctx, at, 0, 1000))
	rest := at
	steps.Do(readIs(ctx, h.Source, &rest, 10, "a4", "a5"))
	steps.Get(trimmer.Trim(ctx, rest, 0, 1000))
	return readIs(ctx, h.Source, &rest, 10)
}
