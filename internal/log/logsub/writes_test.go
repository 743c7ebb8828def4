package logsub_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log/logsub"
)

// Writes within Begin are made together at its end, and not at all if Begin fails.
func TestWrites(t *testing.T) {
	var made [][]int
	w := &logsub.Writes[int]{Make: func(_ context.Context, some []int) error {
		made = append(made, some)
		return nil
	}}
	others := &logsub.Writes[int]{Make: w.Make}
	ctx := t.Context()
	require.NoError(t, w.Add(ctx, 1, 2))
	require.NoError(t, w.Add(ctx))
	require.NoError(t, w.Begin(ctx, func(context.Context) error { return nil }))
	require.Equal(t, [][]int{{1, 2}}, made)

	made = nil
	require.NoError(t, w.Begin(ctx, func(ctx context.Context) error {
		require.NoError(t, w.Add(ctx, 3))
		require.NoError(t, w.Begin(ctx, func(ctx context.Context) error { return w.Add(ctx, 4, 5) }))
		require.Empty(t, made)
		return others.Add(ctx, 6) // of another driver
	}))
	require.Equal(t, [][]int{{6}, {3, 4, 5}}, made)

	made = nil
	failed := errors.New("failed")
	require.ErrorIs(t, w.Begin(ctx, func(ctx context.Context) error { return errors.Join(w.Add(ctx, 7), failed) }), failed)
	require.Empty(t, made)
	w.Make = func(context.Context, []int) error { return failed }
	require.ErrorIs(t, w.Begin(ctx, func(ctx context.Context) error { return w.Add(ctx, 8) }), failed)
}

// One request has at most so many values and so many bytes, and always one.
func TestChunk(t *testing.T) {
	size := func(n int) int { return n }
	for _, c := range []struct {
		values            []int
		most, bytes, want int
	}{
		{[]int{1, 1, 1}, 5, 10, 3},
		{[]int{1, 1, 1}, 2, 10, 2},
		{[]int{4, 6, 1}, 5, 10, 2},
		{[]int{11, 1}, 5, 10, 1},
	} {
		require.Equal(t, c.want, logsub.Chunk(c.values, c.most, c.bytes, size), c)
	}
}

// A group counts if it is on every lane.
func TestOnEvery(t *testing.T) {
	topic := logsub.Topic{Partitions: 2}
	require.Equal(t, []string{"a", "c"}, topic.OnEvery(map[string]int{"c": 2, "b": 1, "a": 2}))
	require.Empty(t, topic.OnEvery(map[string]int{"b": 1}))
}
