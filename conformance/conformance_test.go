package conformance

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// adder is a backend that adds, and harness one of it.
type adder func(a, b int) int

type harness struct {
	adder    adder
	negative bool // it takes negative numbers
	label    string
}

const needNegative Need = "the adder takes no negative numbers"

func sum(a, b, want int) func(context.Context, harness) error {
	return func(_ context.Context, h harness) error {
		if h.label == "" {
			return errors.New("the harness is not complete")
		}
		if h.adder(a, b) != want {
			return errors.New("a wrong sum")
		}
		return nil
	}
}

func suite() Suite[harness] {
	return Suite[harness]{
		Cases: []Case[harness]{
			{Name: "ones", Run: sum(1, 1, 2)},
			{Name: "negative", Needs: []Need{needNegative}, Run: sum(-1, 3, 2)},
		},
		Lacks:    func(h harness, n Need) bool { return n == needNegative && !h.negative },
		Complete: func(_ context.Context, h harness) (harness, error) { h.label = "complete"; return h, nil },
	}
}

func plus(a, b int) int { return a + b }

func TestRun(t *testing.T) {
	opened := 0
	suite().Run(t, func(*testing.T) harness {
		opened++
		return harness{adder: plus, negative: true}
	})
	require.Equal(t, 2, opened)
	err := suite().Check(t.Context(), suite().Cases[0], harness{adder: func(a, _ int) int { return a }})
	require.EqualError(t, err, "a wrong sum")
}

func TestNotApplicable(t *testing.T) {
	suite().Run(t, func(*testing.T) harness { return harness{adder: func(a, b int) int { return max(a, 1) + b }} })
	require.Equal(t, []string{"negative"}, suite().NotApplicable(harness{}))
	require.Empty(t, suite().NotApplicable(harness{negative: true}))
	require.Empty(t, Suite[harness]{Cases: suite().Cases}.NotApplicable(harness{}))
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := Case[harness]{Name: "hangs", Run: func(ctx context.Context, _ harness) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		start := time.Now()
		require.ErrorIs(t, suite().Check(t.Context(), hangs, harness{}), context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(start))
	})
}

// A case gets a minute more to end.
func TestLimitOfABackendThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		defer close(answer)
		start := time.Now()
		hangs := Case[harness]{Name: "hangs", Run: func(context.Context, harness) error { <-answer; return nil }}
		require.ErrorIs(t, suite().Check(t.Context(), hangs, harness{}), context.DeadlineExceeded)
		require.Equal(t, 2*time.Minute, time.Since(start))
	})
}

// A harness may end a case as it ends a test.
func TestHarnessEndsTheCase(t *testing.T) {
	ends := Case[harness]{Name: "ends", Run: func(context.Context, harness) error { runtime.Goexit(); return nil }}
	require.ErrorContains(t, suite().Check(t.Context(), ends, harness{}), "ends did not return")
}

func TestIncompleteHarness(t *testing.T) {
	s := suite()
	spoiled := errors.New("spoiled")
	s.Complete = func(context.Context, harness) (harness, error) { return harness{}, spoiled }
	require.ErrorIs(t, s.Check(t.Context(), s.Cases[0], harness{}), spoiled)
}

func TestMutants(t *testing.T) {
	mutant := func(name string, a adder, cases ...string) Mutant[harness] {
		return Mutant[harness]{Name: name, Cases: cases, Open: func(*testing.T) harness { return harness{adder: a, negative: true} }}
	}
	first := mutant("forgets the second number", func(a, _ int) int { return a }, "ones", "negative")
	panics := mutant("panics", func(int, int) int { panic("overflow") }, "ones")
	suite().Mutants(t, []Mutant[harness]{first, panics})

	// Only a defect that makes its case wait may end at the limit.
	stuck := suite()
	stuck.Limit = time.Nanosecond
	stuck.Cases = []Case[harness]{{Name: "waits", Run: func(ctx context.Context, _ harness) error {
		<-ctx.Done()
		return ctx.Err()
	}}}
	silent := mutant("is silent", plus, "waits")
	require.Equal(t, []string{"waits does not notice a backend that is silent (context deadline exceeded)"}, stuck.unnoticed(t, []Mutant[harness]{silent}))
	silent.Hangs = true
	stuck.Mutants(t, []Mutant[harness]{silent})

	// A case that is n/a on the mutant shows nothing, whatever it does there.
	poor := mutant("has no numbers", nil, "negative")
	poor.Open = func(*testing.T) harness { return harness{} }
	require.Contains(t, suite().unnoticed(t, []Mutant[harness]{poor}), "negative is n/a on a backend that has no numbers (the adder takes no negative numbers)")

	require.Equal(t, []string{
		"ones does not notice a backend that adds (<nil>)",
		"there is no case zero to notice a backend that adds",
		"no mutant shows that the case negative can fail",
	}, suite().unnoticed(t, []Mutant[harness]{mutant("adds", plus, "ones", "zero")}))
}
