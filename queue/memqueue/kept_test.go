package memqueue_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/driver"
)

// Files of releases before, which kept no places, no figures, or no switch of the challenge, are
// read. testdata/rooms-2 to rooms-4 are what they wrote of busy.
func TestRoomsOfTheReleaseBefore(t *testing.T) {
	for _, name := range []string{"rooms-2", "rooms-3", "rooms-4"} {
		t.Run(name, func(t *testing.T) { roomsOfTheReleaseBefore(t, name) })
	}
}

func roomsOfTheReleaseBefore(t *testing.T, name string) {
	file, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	var now time.Time
	want := visit(t, busy(t, &now), "e", "in", "a", "b", "c")
	s := at(t, &now)
	require.NoError(t, s.Restore(bytes.NewReader(file)))
	got := visit(t, s, "e", "in", "a", "b", "c")
	for i, o := range want.Outcomes {
		require.Equal(t, o, got.Outcomes[i])
	}
	require.Equal(t, want.Waiting, got.Waiting)
	require.True(t, visit(t, s, "g", "z").Paused)
}

// Kept places, returners, lanes and what is due to them go on after a restart.
func TestKeptPlacesOutliveARestart(t *testing.T) {
	keeping := rules
	keeping.Keep, keeping.Lanes = time.Hour, []driver.Lane{{Name: "member", Share: 0.5}}
	var now time.Time
	s := busy(t, &now)
	epoch := visit(t, s, "e", "a").Epoch
	until := now.Add(time.Minute)
	now = now.Add(rules.Seen + time.Second)
	_, err := s.Sweep(t.Context(), "e", keeping, 0)
	require.NoError(t, err)
	call := func(all ...driver.Visit) driver.Visited {
		got, err := s.Visit(t.Context(), "e", keeping, driver.Beats{}, all)
		require.NoError(t, err)
		return got
	}
	view := call(driver.Visit{User: "l1"}, driver.Visit{User: "l2"}, driver.Visit{User: "m", Lane: "member"}, driver.Visit{User: "n", Lane: "member"})
	require.Equal(t, driver.Active, view.Outcomes[0].Status, "the room was empty")
	orders := firstOrders(t, &now)
	back := func(i int) driver.Outcome {
		return call(driver.Visit{User: string(rune('a' + i)), Epoch: epoch, Order: orders[i], Until: until}).Outcomes[0]
	}
	require.True(t, back(0).Returner)
	file := saved(t, s)
	s = at(t, &now)
	require.NoError(t, s.Restore(bytes.NewReader(file)))
	require.True(t, back(1).Returner)
	again := call(driver.Visit{User: "a"}).Outcomes[0]
	require.True(t, again.Returner)
	require.False(t, again.New)
	state := call().State
	require.Equal(t, []int{5, 2}, []int{state.Waiting, state.Returning})
	require.EqualValues(t, 2, state.Returned)
	many := 5
	_, err = s.Change(t.Context(), "e", keeping, driver.Change{Threshold: &many})
	require.NoError(t, err)
	a, err := s.Admit(t.Context(), "e", keeping)
	require.NoError(t, err)
	var turns []string
	for _, one := range a.Admitted {
		turns = append(turns, one.User)
	}
	require.Equal(t, []string{"l2", "m", "n", "a"}, turns)
	file = saved(t, s)
	s = at(t, &now)
	require.NoError(t, s.Restore(bytes.NewReader(file)))
	require.Equal(t, 2, call().Returning)
	require.True(t, call(driver.Visit{User: "b"}).Outcomes[0].Returner)
}

// firstOrders are those of a, b and c in busy.
func firstOrders(t *testing.T, now *time.Time) (orders []int64) {
	t.Helper()
	at := *now
	for _, o := range visit(t, busy(t, now), "e", "a", "b", "c").Outcomes {
		orders = append(orders, o.Order)
	}
	*now = at
	return orders
}

// A no-show is known by name for Rules.Seen from its turn on, also when a later turn was found to
// be missed before: leaving after that gives no kept place up.
func TestAMissedTurnIsKnownForSeen(t *testing.T) {
	var now time.Time
	s := at(t, &now)
	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := driver.Rules{
		Active: 10 * time.Minute, Seen: 10 * time.Minute, NoShow: 150 * time.Second, Turn: 3 * time.Second, Keep: time.Hour,
		Tick: time.Microsecond, Batch: 10, SweepEvery: time.Hour,
	}
	visit := func(v driver.Visit) (driver.Outcome, driver.State) {
		t.Helper()
		got, err := s.Visit(t.Context(), "e", r, driver.Beats{}, []driver.Visit{v})
		require.NoError(t, err)
		return got.Outcomes[0], got.State
	}
	first, _ := visit(driver.Visit{User: "first"})
	_, state := visit(driver.Visit{User: "second"})
	for range 2 {
		r.Threshold++
		_, err := s.Admit(t.Context(), "e", r)
		require.NoError(t, err)
		now = now.Add(5 * time.Second)
	}
	now = now.Add(5 * time.Minute)
	_, missed := visit(driver.Visit{Kind: driver.Heartbeat, User: "other"})
	require.EqualValues(t, 2, missed.NoShows)
	now = now.Add(5*time.Minute - 8*time.Second) // 2 s after Seen of the first, and 3 s before that of the second
	visit(driver.Visit{Kind: driver.Leave, User: "first"})
	back, _ := visit(driver.Visit{User: "first", Epoch: state.Epoch, Order: first.Order, Until: now})
	require.Equal(t, driver.Outcome{Status: driver.Active, Order: first.Order, Left: r.Active, New: true, Entered: true}, back)
}

// Members of a lane that a draw has moved are in it after a restart, too.
func TestLanesOutliveARestartDuringADraw(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := at(t, &now)
	r := rules
	r.Threshold, r.Batch, r.Lanes = 10, 10, []driver.Lane{{Name: "member", Share: 0.5}}
	opens := now.Add(driver.FreezeBefore)
	_, err := s.Change(t.Context(), "e", r, driver.Change{Settings: new(int64(1)), Opens: &opens})
	require.NoError(t, err)
	_, err = s.Visit(t.Context(), "e", r, driver.Beats{}, []driver.Visit{{User: "m", Lane: "member"}, {User: "a"}, {User: "b"}, {User: "c"}})
	require.NoError(t, err)
	step := func(step driver.DrawStep) driver.Drawn {
		t.Helper()
		step.Holder = 1
		d, err := s.Draw(t.Context(), "e", r, step)
		require.NoError(t, err)
		return d
	}
	limit := step(driver.DrawStep{Kind: driver.DrawFreeze}).Limit
	step(driver.DrawStep{Kind: driver.DrawRoot, Root: make([]byte, 32)})
	step(driver.DrawStep{Kind: driver.DrawSeed, Seed: make([]byte, 32)})
	var moves []driver.Admitted
	for i, user := range []string{"a", "b", "c", "m"} {
		moves = append(moves, driver.Admitted{User: user, Order: limit + 1 + int64(i)})
	}
	require.Equal(t, driver.Seeded, step(driver.DrawStep{Kind: driver.DrawMove, Moves: moves}).Phase)
	file := saved(t, s)
	s = at(t, &now)
	require.NoError(t, s.Restore(bytes.NewReader(file)))
	a, err := s.Admit(t.Context(), "e", r)
	require.NoError(t, err)
	var turns []string
	for _, one := range a.Admitted {
		turns = append(turns, one.User)
	}
	require.Equal(t, []string{"a", "m", "b", "c"}, turns)
}
