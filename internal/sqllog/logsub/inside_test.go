package logsub

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/internal/sqllog"
)

// Whatever the lanes do, never more is out than the window, and a lane that is
// alone may use all of it.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 64).Draw(t, "size")
		w := newWindow(size)
		var lanes []*lane
		taken := map[*lane]int{}
		total := 0
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				if len(lanes) == 5 {
					t.Skip("enough")
				}
				l := &lane{kicked: make(chan struct{}, 1)}
				w.join(l)
				lanes = append(lanes, l)
			},
			"take": func(t *rapid.T) {
				if len(lanes) == 0 {
					t.Skip("no lanes")
				}
				l := rapid.SampledFrom(lanes).Draw(t, "lane")
				n := w.take(l, rapid.IntRange(1, size).Draw(t, "most"))
				taken[l] += n
				total += n
			},
			"give": func(t *rapid.T) {
				i := slices.IndexFunc(lanes, func(l *lane) bool { return taken[l] > 0 })
				if i < 0 {
					t.Skip("nothing is taken")
				}
				w.give(lanes[i])
				taken[lanes[i]]--
				total--
			},
			"leave": func(t *rapid.T) {
				if len(lanes) == 0 {
					t.Skip("no lanes")
				}
				i := rapid.IntRange(0, len(lanes)-1).Draw(t, "lane")
				l := lanes[i]
				w.leave(l)
				lanes = slices.Delete(lanes, i, i+1)
				total -= taken[l]
				delete(taken, l)
			},
			"": func(t *rapid.T) {
				if w.total != total || total > size {
					t.Fatalf("%d places are taken by count %d of %d", w.total, total, size)
				}
				if len(lanes) == 1 && w.free(lanes[0]) != size-total {
					t.Fatalf("a lone lane is refused at %d of %d", total, size)
				}
			},
		})
	})
}

func TestStuckLaneLeavesRoom(t *testing.T) {
	w := newWindow(16)
	stuck, other, third := &lane{kicked: make(chan struct{}, 1)}, &lane{kicked: make(chan struct{}, 1)}, &lane{kicked: make(chan struct{}, 1)}
	for _, l := range []*lane{stuck, other, third} {
		w.join(l)
	}
	n := w.take(stuck, 100)
	if n < 12 || n > 14 {
		t.Errorf("a busy lane gets %d of 16 places, want most of them", n)
	}
	if w.take(other, 1) == 0 || w.take(third, 1) == 0 {
		t.Error("a stuck lane stops the others")
	}
	// A lane that was refused hears of the next free place.
	for _, l := range []*lane{stuck, other} {
		for w.take(l, 1) > 0 {
		}
	}
	w.give(stuck)
	if len(other.kicked) != 1 || len(stuck.kicked) != 1 {
		t.Error("a free place was not announced to those that were refused")
	}
}

func TestShare(t *testing.T) {
	for n := 1; n <= 30; n++ {
		for members := 1; members <= 40; members++ {
			sum, least, most := 0, n, 0
			for rank := range members {
				s := share(n, members, rank)
				sum, least, most = sum+s, min(least, s), max(most, s)
			}
			if sum != n || most-least > 1 {
				t.Errorf("%d partitions, %d members: the shares sum up to %d, from %d to %d", n, members, sum, least, most)
			}
		}
	}
}

func TestConfigRejects(t *testing.T) {
	for _, cfg := range []Config{{Partitions: -1}, {Partitions: maxPartitions + 1}, {Retention: -1}, {LeaseTTL: -1}, {PollInterval: -1}, {CommitInterval: -1}, {PruneInterval: -1}, {Span: -1}} {
		if cfg.validate() == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	if _, err := New(Backend{}, Config{}); err == nil {
		t.Error("a hub without a backend was made")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("", []byte("p"))
	f.Add(`{"a":"b"}`, []byte(nil))
	f.Add(`{"a":1}`, []byte{0xff})
	f.Add(`null`, []byte{})
	f.Fuzz(func(t *testing.T, headers string, payload []byte) {
		msg, err := Decode(sqllog.Entry{MessageID: "id", Headers: headers, Payload: payload})
		if msg == nil || msg.Metadata == nil || string(msg.Payload) != string(payload) {
			t.Fatalf("%q: the message is %+v (%v)", headers, msg, err)
		}
		msg.Metadata.Set("x", "writable")
	})
}
