package seal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	oldSecret = strings.Repeat("o", seal.MinSecret)
	newSecret = strings.Repeat("n", seal.MinSecret)
)

func ring(t testing.TB, secrets ...string) *seal.Ring {
	t.Helper()
	r, err := seal.NewRing(secrets...)
	require.NoError(t, err)
	return r
}
