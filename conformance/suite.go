package conformance

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"
)

// Need is a means that some harnesses lack. Its text says what such a harness cannot do;
// n/a lines print it.
type Need string

// Case is one promise of a backend.
type Case[H any] struct {
	Name string
	// Needs lists the means that the case needs. On a harness that lacks one, the case is n/a.
	Needs []Need
	// Run checks the promise on a new harness and returns how it was broken. It obeys ctx.
	Run func(ctx context.Context, h H) error
}

// Suite is the cases of one interface, and how they run.
type Suite[H any] struct {
	Cases []Case[H]
	// Limit bounds the time of one case, so that a backend that hangs fails it; a minute
	// when zero. A backend that ignores its context fails it a minute later.
	Limit time.Duration
	// Lacks reports whether a harness lacks a means. When Lacks is nil, harnesses lack none.
	Lacks func(h H, n Need) bool
	// Complete fills in the optional parts of a harness; nil when there are none.
	Complete func(ctx context.Context, h H) (H, error)
}

// Run runs every case as a subtest, each on a harness of its own.
func (s Suite[H]) Run(t *testing.T, open func(t *testing.T) H) {
	t.Helper()
	for _, c := range s.Cases {
		t.Run(c.Name, func(t *testing.T) {
			h := open(t)
			if missing := s.Missing(c, h); missing != "" {
				t.Logf("n/a: %s", missing)
				return
			}
			if err := s.Check(t.Context(), c, h); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check runs one case on a new harness and returns how the promise was broken.
func (s Suite[H]) Check(ctx context.Context, c Case[H], h H) error {
	_, err := s.check(ctx, c, h)
	return err
}

// check also reports whether the case took until the limit. On a backend that ignores its context,
// check leaves the case running after a minute more.
func (s Suite[H]) check(ctx context.Context, c Case[H], h H) (late bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Limit, time.Minute))
	defer cancel()
	done := make(chan error, 1)
	go func() {
		result := fmt.Errorf("%s did not return: its harness or backend ended the goroutine", c.Name)
		defer func() { done <- result }()
		result = s.run(ctx, c, h)
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(time.Minute):
			err = fmt.Errorf("%s goes on: the backend ignores the end of its context: %w", c.Name, ctx.Err())
		}
	}
	return ctx.Err() != nil, err
}

func (s Suite[H]) run(ctx context.Context, c Case[H], h H) (err error) {
	if s.Complete != nil {
		if h, err = s.Complete(ctx, h); err != nil {
			return err
		}
	}
	return c.Run(ctx, h)
}

// Missing returns the first means of a case that a harness lacks, "" when there is none.
func (s Suite[H]) Missing(c Case[H], h H) Need {
	if s.Lacks == nil {
		return ""
	}
	for _, n := range c.Needs {
		if s.Lacks(h, n) {
			return n
		}
	}
	return ""
}

// NotApplicable returns the names of the cases that are n/a on a harness.
func (s Suite[H]) NotApplicable(h H) []string {
	var names []string
	for _, c := range s.Cases {
		if s.Missing(c, h) != "" {
			names = append(names, c.Name)
		}
	}
	return names
}
