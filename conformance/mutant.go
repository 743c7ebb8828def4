package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// Mutant is a backend with one defect.
type Mutant[H any] struct {
	// Name says what the backend does wrong.
	Name string
	// Cases are the names of the cases that notice it.
	Cases []string
	// Open returns a new harness of it.
	Open func(t *testing.T) H
	// Hangs says that its cases wait in vain for what it does not do. Without Hangs, a case
	// that ends at the limit has not noticed the defect.
	Hangs bool
}

// Mutants fails t when a case does not notice a mutant that names it, and when no mutant
// names a case: then nothing shows that the case can fail. A panic counts as noticed.
func (s Suite[H]) Mutants(t *testing.T, all []Mutant[H]) {
	t.Helper()
	for _, complaint := range s.unnoticed(t, all) {
		t.Error(complaint)
	}
}

func (s Suite[H]) unnoticed(t *testing.T, all []Mutant[H]) (complaints []string) {
	t.Helper()
	named := map[string]bool{}
	for _, m := range all {
		for _, name := range m.Cases {
			named[name] = true
			i := slices.IndexFunc(s.Cases, func(c Case[H]) bool { return c.Name == name })
			if i < 0 {
				complaints = append(complaints, fmt.Sprintf("there is no case %s to notice a backend that %s", name, m.Name))
				continue
			}
			// A subtest, so that what the harness opened is closed before the next one.
			t.Run(m.Name+"/"+name, func(t *testing.T) {
				h := m.Open(t)
				if missing := s.Missing(s.Cases[i], h); missing != "" {
					complaints = append(complaints, fmt.Sprintf("%s is n/a on a backend that %s (%s)", name, m.Name, missing))
					return
				}
				late, err := s.check(t.Context(), safely(s.Cases[i]), h)
				if err == nil || late && !m.Hangs {
					complaints = append(complaints, fmt.Sprintf("%s does not notice a backend that %s (%v)", name, m.Name, err))
				} else {
					t.Logf("noticed: %v", err)
				}
			})
		}
	}
	for _, c := range s.Cases {
		if !named[c.Name] {
			complaints = append(complaints, fmt.Sprintf("no mutant shows that the case %s can fail", c.Name))
		}
	}
	return complaints
}

// safely returns a case that returns a panic as an error.
func safely[H any](c Case[H]) Case[H] {
	run := c.Run
	c.Run = func(ctx context.Context, h H) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v", r)
			}
		}()
		return run(ctx, h)
	}
	return c
}
