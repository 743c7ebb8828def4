package script_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/script"
)

func TestStepsEndWithTheFirstError(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for name, c := range map[string]struct {
		step func()
		want string
	}{
		"stop":        {func() { script.Stop(away) }, "away"},
		"must":        {func() { script.Must(away) }, "away"},
		"fail":        {func() { script.Fail("%d of 2: %w", 1, away) }, "1 of 2: away"},
		"within":      {func() { script.Within("a call", func() { script.Must(away) }) }, "a call: away"},
		"in any call": {func() { script.Must(script.Try(func() { script.Stop(away) })) }, "away"},
	} {
		steps := 0
		err := script.Try(func() {
			steps++
			c.step()
			steps++
		})
		require.EqualError(t, err, c.want, name)
		require.ErrorIs(t, err, away, name)
		require.Equal(t, 1, steps, name)
	}
}

func TestStepsToTheEnd(t *testing.T) {
	t.Parallel()
	steps := 0
	require.NoError(t, script.Try(func() {
		script.Must(nil)
		script.Within("a call", func() { steps++ })
	}))
	require.Equal(t, 1, steps)
}

func TestAPanicStaysOne(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "overflow", func() { _ = script.Try(func() { panic("overflow") }) })
}
