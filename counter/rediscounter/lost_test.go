package rediscounter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
)

// TestACallIsSentOnce loses answers on a Cluster, whose client sends other calls again: an addition
// would count twice, and a batch would replace what it had moved aside before.
func TestACallIsSentOnce(t *testing.T) {
	client, lose := redistest.Lossy(t)
	prefix := redistest.Prefix(t, client)
	s, other := newStore(t, client, prefix), newStore(t, servers["cluster"](t), prefix)
	add := func() { require.NoError(t, other.Add(t.Context(), "view", "show", 1)) }
	take := func() error { _, err := s.Take(t.Context(), "view", 10); return err }
	pending := func(want int64) {
		t.Helper()
		got, err := other.Pending(t.Context(), "view", []string{"show"})
		require.NoError(t, err)
		require.Equal(t, want, got["show"])
	}
	add()
	require.NoError(t, take())
	lose("evalsha", func() {})
	err := s.Add(t.Context(), "view", "show", 1)
	pending(2)
	require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)

	lose("evalsha", add)
	err = take()
	pending(3)
	require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)
}
