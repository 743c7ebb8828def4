package seal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/seal"
)

func TestSecrets(t *testing.T) {
	ringOf := func(secrets ...string) *seal.Ring {
		ring, err := seal.NewRing(secrets...)
		require.NoError(t, err)
		return ring
	}
	older, newer := strings.Repeat("o", 32), strings.Repeat("n", 32)
	before := seal.NewSecrets(ringOf(older))
	plain := []byte("a seed of a draw")
	sealed := before.Seal(plain, "show-1")
	require.False(t, bytes.Contains(sealed, plain))
	require.NotEqual(t, sealed, before.Seal(plain, "show-1"), "a nonce is used once")

	after := seal.NewSecrets(ringOf(newer, older))
	got, err := after.Open(sealed, "show-1")
	require.NoError(t, err)
	require.Equal(t, plain, got)

	_, err = after.Open(sealed, "show-2")
	require.ErrorIs(t, err, seal.ErrSignature)
	_, err = seal.NewSecrets(ringOf(newer)).Open(sealed, "show-1")
	require.ErrorIs(t, err, seal.ErrSignature)
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		_, err := after.Open(changed, "show-1")
		require.ErrorIs(t, err, seal.ErrSignature, i)
	}
	_, err = after.Open(nil, "show-1")
	require.ErrorIs(t, err, seal.ErrMissing)
	_, err = after.Open(sealed[:31], "show-1")
	require.ErrorIs(t, err, seal.ErrMalformed)
}
