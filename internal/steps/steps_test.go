package steps_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/steps"
)

var (
	errBroken = errors.New("broken")
	errClose  = errors.New("close")
)

func value(n int, err error) (int, error) { return n, err }

func pair(a, b int, err error) (int, int, error) { return a, b, err }

func TestFirstFailureEndsTheCase(t *testing.T) {
	run := func(fail error) (sum int, err error) {
		defer steps.End(&err)
		sum = steps.Get(value(1, nil))
		a, b := steps.Two(pair(2, 3, nil))
		sum += a + b
		steps.Do(fail)
		steps.Get(value(0, fail))
		return sum + 4, nil
	}
	sum, err := run(nil)
	require.NoError(t, err)
	require.Equal(t, 10, sum)
	_, err = run(errBroken)
	require.EqualError(t, err, "broken")
}

func TestNamed(t *testing.T) {
	run := func(fail error) (err error) {
		defer steps.End(&err)
		steps.Named(fail, "attempt %d", 2)
		return nil
	}
	require.NoError(t, run(nil))
	require.EqualError(t, run(errBroken), "attempt 2: broken")
	require.ErrorIs(t, run(errBroken), errBroken)
}

func TestStepsOfOthers(t *testing.T) {
	done := 0
	err := steps.Try(func() {
		steps.Within("a call", func() { done++ })
		steps.Within("another call", func() { steps.Fail("%d of 2: %w", 1, errBroken) })
		done++
	})
	require.EqualError(t, err, "another call: 1 of 2: broken")
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, 1, done)
	require.NoError(t, steps.Try(func() { done++ }))
}

func TestDeferredErrorsAreKept(t *testing.T) {
	run := func(fail error) (err error) {
		defer steps.End(&err)
		defer func() { err = errors.Join(err, errClose) }()
		steps.Do(fail)
		return nil
	}
	require.ErrorIs(t, run(nil), errClose)
	both := run(errBroken)
	require.ErrorIs(t, both, errBroken)
	require.ErrorIs(t, both, errClose)
}

func TestOtherPanicsGoOn(t *testing.T) {
	require.PanicsWithValue(t, "a bug", func() {
		var err error
		defer steps.End(&err)
		panic("a bug")
	})
	require.PanicsWithValue(t, "a bug", func() { _ = steps.Try(func() { panic("a bug") }) })
}
