package memqueue_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/queue/queuetest"
)

// drawn lets rapid choose, and shrink, the steps of a walk.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

func TestWalks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.IntRange(1, 200).Draw(rt, "steps")
		took, err := queuetest.Walk(t.Context(), harness(t), drawn{rt}, steps)
		require.NoError(rt, err)
		require.Equalf(rt, steps, took, "%d of %d steps on a clock that stands still between them", took, steps)
	})
}
