package memqueue_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

// busy is a store at noon, one place in room e: "in" is inside, a, b and c wait in it.
// Position 1 of the front gate of room g was used.
func busy(t testing.TB, now *time.Time) driver.MemoryStore {
	t.Helper()
	*now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := at(t, now)
	one, paused := 1, true
	change(t, s, "e", driver.Change{Threshold: &one})
	change(t, s, "g", driver.Change{Gate: &driver.Gate{On: true}, Paused: &paused})
	visit(t, s, "e", "in", "a", "b", "c")
	_, err := s.Visit(t.Context(), "g", rules, driver.Beats{}, []driver.Visit{{User: "a", Position: 1}})
	require.NoError(t, err)
	return s
}

func at(t testing.TB, now *time.Time) driver.MemoryStore {
	t.Helper()
	s, err := memqueue.New(memqueue.Config{Now: func() time.Time { return *now }})
	require.NoError(t, err)
	return s
}

func change(t testing.TB, s driver.MemoryStore, event string, c driver.Change) {
	t.Helper()
	_, err := s.Change(t.Context(), event, rules, c)
	require.NoError(t, err)
}

func visit(t testing.TB, s driver.MemoryStore, event string, users ...string) driver.Visited {
	t.Helper()
	var all []driver.Visit
	for _, user := range users {
		all = append(all, driver.Visit{User: user})
	}
	got, err := s.Visit(t.Context(), event, rules, driver.Beats{}, all)
	require.NoError(t, err)
	return got
}

func saved(t testing.TB, s driver.MemoryStore) []byte {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, s.Save(&file))
	return file.Bytes()
}

// An hour without a process does not pass in the room, and neither does a step of the
// clock by an hour, ahead or back.
func TestTimeWithoutAProcessDoesNotPass(t *testing.T) {
	for _, away := range []time.Duration{time.Hour, -time.Hour} {
		var now time.Time
		s := busy(t, &now)
		before := visit(t, s, "e", "in", "a", "b", "c")
		now = now.Add(100 * time.Second)
		file := saved(t, s)
		now = now.Add(away)
		s = at(t, &now)
		require.NoError(t, s.Restore(bytes.NewReader(file)))
		swept, err := s.Sweep(t.Context(), "e", rules, 0)
		require.NoError(t, err)
		require.Zero(t, swept.Removed)
		after := visit(t, s, "e", "in", "a", "b", "c")
		require.Equal(t, rules.Active-100*time.Second, after.Outcomes[0].Left)
		require.Equal(t, before.Outcomes[1:], after.Outcomes[1:])
		require.Equal(t, before.Epoch, after.Epoch)
		require.EqualValues(t, 2, after.Servers)
		require.Equal(t, 1, after.Threshold)
		require.Equal(t, before.Joined, after.Joined)
		require.True(t, visit(t, s, "g", "z").Paused)
		got, err := s.Visit(t.Context(), "g", rules, driver.Beats{}, []driver.Visit{{User: "b", Position: 1}, {User: "c", Position: 2}})
		require.NoError(t, err)
		require.Equal(t, driver.Gated, got.Outcomes[0].Status)
		require.Equal(t, driver.Waiting, got.Outcomes[1].Status)
	}
}

// Arrivals that were not saved have tickets of this epoch: each counts once, before all
// that came after the restart.
func TestArrivalsThatWereNotSaved(t *testing.T) {
	var now time.Time
	s := busy(t, &now)
	file := saved(t, s)
	lost := visit(t, s, "e", "d", "e")
	seen, err := s.Look(t.Context(), "e", rules, 0, 0)
	require.NoError(t, err)
	unseen := visit(t, s, "made after the save", "x", "y").Outcomes[1]
	s = at(t, &now)
	require.NoError(t, s.Restore(bytes.NewReader(file)))
	view, err := s.Look(t.Context(), "e", rules, seen.Epoch, seen.Version)
	require.NoError(t, err)
	require.True(t, view.Full, "a reader of what was not saved forgets it")
	after := visit(t, s, "e", "late").Outcomes[0]
	require.Greater(t, after.Order, lost.Outcomes[1].Order)
	ticket := func(user string, order int64) driver.Visit {
		return driver.Visit{User: user, Epoch: lost.Epoch, Order: order, Until: now.Add(time.Minute)}
	}
	got, err := s.Visit(t.Context(), "e", rules, driver.Beats{}, []driver.Visit{ticket("e", lost.Outcomes[1].Order), ticket("d", lost.Outcomes[0].Order), ticket("again", lost.Outcomes[0].Order)})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 6}, []int{got.Outcomes[0].Ahead, got.Outcomes[1].Ahead, got.Outcomes[2].Ahead})
	require.Zero(t, got.Settling)
	got, err = s.Visit(t.Context(), "made after the save", rules, driver.Beats{}, []driver.Visit{ticket("y", unseen.Order)})
	require.NoError(t, err)
	require.Equal(t, unseen.Order, got.Outcomes[0].Order)
}

// After a day the users are out, and their tickets are worth nothing; what operators
// have set stays.
func TestARoomSavedLongAgoKeepsItsSettings(t *testing.T) {
	var now time.Time
	s := busy(t, &now)
	before := visit(t, s, "e", "a")
	file := saved(t, s)
	now = now.Add(driver.Lapse + time.Second)
	s = at(t, &now)
	require.NoError(t, s.Restore(bytes.NewReader(file)))
	zero := 0
	change(t, s, "e", driver.Change{Threshold: &zero})
	visit(t, s, "e", "new")
	got, err := s.Visit(t.Context(), "e", rules, driver.Beats{}, []driver.Visit{{User: "a", Epoch: before.Epoch, Order: before.Outcomes[0].Order, Until: now.Add(time.Minute)}})
	require.NoError(t, err)
	require.NotEqual(t, before.Epoch, got.Epoch)
	require.Equal(t, 1, got.Outcomes[0].Ahead)
	require.Zero(t, got.Active)
	g := visit(t, s, "g", "z")
	require.True(t, g.Paused)
	require.Equal(t, driver.Gated, g.Outcomes[0].Status)
}

// What operators have set of the challenge goes on after a restart, also after a long one.
func TestTheChallengeIsSaved(t *testing.T) {
	for _, away := range []time.Duration{time.Second, driver.Lapse + time.Second} {
		for _, on := range []*bool{nil, new(true), new(false)} {
			var now time.Time
			s := busy(t, &now)
			change(t, s, "e", driver.Change{Challenge: on})
			file := saved(t, s)
			now = now.Add(away)
			s = at(t, &now)
			require.NoError(t, s.Restore(bytes.NewReader(file)))
			require.Equal(t, on, visit(t, s, "e", "a").Challenge)
			require.Nil(t, visit(t, s, "g", "a").Challenge)
		}
	}
}

// A file that is cut, damaged, foreign or of a later format is refused as a whole.
func TestRestoreRefuses(t *testing.T) {
	var now time.Time
	file := saved(t, busy(t, &now))
	refused := func(why string, file []byte) {
		t.Helper()
		s := at(t, &now)
		epoch := visit(t, at(t, &now), "e", "a").Epoch
		err := s.Restore(bytes.NewReader(file))
		if err == nil || !strings.Contains(err.Error(), why) || fault.Of(err) != fault.Permanent {
			t.Errorf("want %q, got %v", why, err)
		}
		if memqueue.Rooms(s) != 0 || epoch == visit(t, s, "e", "a").Epoch {
			t.Errorf("%q: something was taken", why)
		}
	}
	refused("no saved state of waiting rooms", nil)
	refused("no saved state of waiting rooms", []byte("PNG and so on, a file of another program"))
	for n := len("millrace rooms "); n < len(file); n++ {
		refused("", file[:n])
		damaged := bytes.Clone(file)
		damaged[n] ^= 0x20
		refused("", damaged)
	}
	newer := bytes.Clone(file)
	newer[len("millrace rooms ")]++
	refused("has format 6, and this release reads up to format 5", newer)
	refused("cut short; restore the file from a copy, or remove it", file[:len(file)-1])
	damaged := bytes.Clone(file)
	damaged[len(file)/2] ^= 1
	refused("is damaged", damaged)

	s := busy(t, &now)
	require.ErrorContains(t, s.Restore(bytes.NewReader(file)), "restore before its first use")
	require.NoError(t, at(t, &now).Restore(bytes.NewReader(file)))
}

// slow is a disk during whose writes visitors come.
type slow struct {
	comes func()
	err   error
}

func (w slow) Write(p []byte) (int, error) {
	w.comes()
	return len(p), w.err
}

// A call in the middle of a write would wait forever if the room were locked.
func TestASlowDiskHoldsUpNoVisitor(t *testing.T) {
	var now time.Time
	s := busy(t, &now)
	writes := 0
	comes := func() {
		writes++
		visit(t, s, "e", "a")
		visit(t, s, "g", "a")
		visit(t, s, "new", "a")
	}
	require.NoError(t, s.Save(slow{comes: comes}))
	require.GreaterOrEqual(t, writes, 3)
	full := errors.New("no space left")
	require.ErrorIs(t, s.Save(slow{comes, full}), full)
}

func FuzzRestore(f *testing.F) {
	var now time.Time
	f.Add(memqueue.Unframed(saved(f, busy(f, &now))))
	f.Fuzz(func(t *testing.T, data []byte) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		assert.Error(t, at(t, &now).Restore(bytes.NewReader(data)), "data without a header is taken")
		s := at(t, &now)
		if s.Restore(memqueue.Framed(data)) != nil {
			require.Zero(t, memqueue.Rooms(s))
			return
		}
		require.NoError(t, memqueue.Sound(s))
		for _, event := range []string{"e", "g"} {
			visit(t, s, event, "in", "a", "x")
			_, err := s.Admit(t.Context(), event, rules)
			require.NoError(t, err)
			_, err = s.Visit(t.Context(), event, rules, driver.Beats{}, []driver.Visit{{Kind: driver.Leave, User: "in"}})
			require.NoError(t, err)
		}
		require.NoError(t, memqueue.Sound(s))
		require.NoError(t, at(t, &now).Restore(bytes.NewReader(saved(t, s))))
	})
}

// The figures by minute are those of before, and go on; older ones than are kept are dropped.
func TestFiguresAreSaved(t *testing.T) {
	var now time.Time
	s := busy(t, &now)
	minute := now.Unix() / 60
	left := 7
	first := driver.Sample{
		Minute: minute - 70, Epoch: 1<<53 - 1, Joined: 5, Entered: 2, NoShows: 1, Waiting: 3, Entitled: 1, Active: 2, Returned: 4, Returning: 1,
		Stock: &left, Highest: 1<<53 - 3, Waits: map[int]int64{3: 1, 40: 2}, Laned: 6,
	}
	last := driver.Sample{Minute: minute, Epoch: 7, Joined: 20, Waits: map[int]int64{}}
	for _, one := range []driver.Sample{last, first} {
		require.NoError(t, s.Record(t.Context(), "e", one))
	}
	require.NoError(t, s.Record(t.Context(), "another room", last))
	file := saved(t, s)
	s = at(t, &now)
	require.NoError(t, s.Restore(bytes.NewReader(file)))
	samples, err := s.Samples(t.Context(), "e")
	require.NoError(t, err)
	require.Equal(t, []driver.Sample{first, last}, samples)
	more := driver.Sample{Minute: minute, Epoch: 7, Joined: 21, Waits: map[int]int64{1: 1}, Laned: 2}
	require.NoError(t, s.Record(t.Context(), "e", more))
	now = now.Add(driver.KeepFigures - time.Hour)
	samples, err = s.Samples(t.Context(), "e")
	require.NoError(t, err)
	require.Equal(t, []driver.Sample{more}, samples)
	samples, err = s.Samples(t.Context(), "another room")
	require.NoError(t, err)
	require.Equal(t, []driver.Sample{last}, samples)
}
