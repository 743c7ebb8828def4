package countertest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/counter/countertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// defect is a broken implementation, and the case that detects it.
type defect[H any] struct {
	what, found string
	open        func() H
}

// broken checks that each defect is detected by its case, and that each case detects one.
func broken[H any](t *testing.T, cases []countertest.Case[H], defects []defect[H]) {
	t.Helper()
	named := map[string]countertest.Case[H]{}
	for _, c := range cases {
		named[c.Name] = c
	}
	finds := map[string]bool{}
	for _, d := range defects {
		c, ok := named[d.found]
		if !ok {
			t.Errorf("%s: there is no case %s", d.what, d.found)
			continue
		}
		finds[d.found] = true
		if err := c.Check(t.Context(), d.open()); err == nil {
			t.Errorf("%s does not find that it %s", d.found, d.what)
		} else {
			t.Logf("%s: %v", d.what, err)
		}
	}
	for name := range named {
		if !finds[name] {
			t.Errorf("no defect is for %s", name)
		}
	}
}
