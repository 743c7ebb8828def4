package redisqueue_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
)

// The release before knows the shares of lanes, and no challenge. It reads what this release
// writes, takes the challenge for the share of an unknown lane, and writes it back. Settings
// that it brings in have no challenge.
func TestSettingsOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	client := open(t, redistest.StartServer(t).URL())
	r := newRoom(t, client, "", 1)
	r.rules.Lanes = []driver.Lane{{Name: "member", Share: 0.1}}
	change := func(c driver.Change) driver.State {
		t.Helper()
		s, err := r.store.Change(t.Context(), "e", r.rules, c)
		require.NoError(t, err)
		return s
	}
	change(driver.Change{Settings: new(int64(7)), Challenge: new(true), Shares: map[string]float64{"member": 0.5}})
	kept, err := client.Get(t.Context(), "{e}:settings").Result()
	require.NoError(t, err)
	shares := map[string]float64{}
	for rest := kept[32:]; rest != ""; {
		n := 2 + int(binary.LittleEndian.Uint16([]byte(rest)))
		shares[rest[2:n]] = math.Float64frombits(binary.LittleEndian.Uint64([]byte(rest[n:])))
		rest = rest[n+8:]
	}
	require.Equal(t, map[string]float64{"member": 0.5, ":challenge": 1}, shares)
	require.Equal(t, 7.0, math.Float64frombits(binary.LittleEndian.Uint64([]byte(kept))))

	for _, without := range []string{kept[:32], kept[:32+2+len("member")+8]} {
		require.NoError(t, client.Set(t.Context(), "{e}:settings", without, 0).Err())
		s := change(driver.Change{})
		require.EqualValues(t, 7, s.Settings)
		require.Nil(t, s.Challenge)
		require.Equal(t, len(without) > 32, s.Lanes[0].Share == 0.5)
	}
}
