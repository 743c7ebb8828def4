package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// The shares of lanes that an operator sets are saved first, hold in all processes at once,
// and outlive a loss of the store's data.
func TestSharesOfAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, kept := newSpy(t), &shelf{}
		cfg := queue.Config{Settings: kept, Lanes: []queue.Lane{{Name: "member", Share: 0.1}, {Name: "invited", Share: 0.2}}}
		room, other := open(t, store, cfg), open(t, store, cfg)
		ctx := queue.By(t.Context(), "kim", "members first")
		want := func(member, invited float64, of ...*queue.Room) {
			t.Helper()
			for _, r := range of {
				s, err := r.State(t.Context(), "show-1")
				require.NoError(t, err)
				require.Equal(t, [driver.MaxLanes]queue.Lane{{Name: "member", Share: member}, {Name: "invited", Share: invited}}, s.Lanes)
			}
		}
		want(0.1, 0.2, room, other)
		_, err := room.SetShares(ctx, "show-1", map[string]float64{"member": 0.5})
		require.NoError(t, err)
		want(0.5, 0.2, room, other)
		require.Equal(t, queue.Setting{Version: 1, Shares: map[string]float64{"member": 0.5}, By: "kim", Why: "members first", At: time.Now().UTC()}, kept.all["show-1"])
		_, err = other.Pause(ctx, "show-1")
		require.NoError(t, err)
		want(0.5, 0.2, room, other)
		store.flush(t)
		time.Sleep(2 * time.Second)
		want(0.1, 0.2, room) // and asks for the settings
		want(0.5, 0.2, room, other)
		for _, wrong := range []map[string]float64{{"nobility": 0.1}, {"member": -0.1}, {"member": 0.55}, {"member": 0.3, "invited": 0.45}} {
			_, err := room.SetShares(ctx, "show-1", wrong)
			require.ErrorIs(t, err, queue.ErrInvalid)
		}
		kept.fails(errDatabase)
		_, err = room.SetShares(ctx, "show-1", nil)
		require.ErrorIs(t, err, errDatabase)
		want(0.5, 0.2, room, other)
		kept.fails(nil)
		_, err = room.SetShares(ctx, "show-1", nil)
		require.NoError(t, err)
		want(0.1, 0.2, room, other)

		cfg.Settings = nil
		_, err = open(t, store, cfg).SetShares(ctx, "show-1", nil)
		require.ErrorContains(t, err, "Config.Settings")
	})
}
