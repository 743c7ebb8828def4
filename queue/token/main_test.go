package token_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	oldSecret = strings.Repeat("o", token.MinSecret)
	newSecret = strings.Repeat("n", token.MinSecret)
)

func ring(t testing.TB, secrets ...string) *token.Ring {
	t.Helper()
	r, err := token.NewRing(secrets...)
	require.NoError(t, err)
	return r
}

func entries(t testing.TB, secrets ...string) *token.Entries {
	t.Helper()
	e, err := token.NewEntries(ring(t, secrets...), token.Config{})
	require.NoError(t, err)
	return e
}

func gates(t testing.TB, secrets ...string) *tokens.Gates {
	t.Helper()
	g, err := tokens.NewGates(ring(t, secrets...), tokens.Config{})
	require.NoError(t, err)
	return g
}
