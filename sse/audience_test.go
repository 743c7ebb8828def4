package sse

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/sse/driver"
)

// An audience answers like plain sets, whichever streams come and go.
func TestAudienceIsSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newAudience(1<<30, 1<<30)
		members := map[string][]*stream{}
		rooms := map[string][]*stream{}
		var all []*stream
		without := func(of []*stream, s *stream) []*stream {
			return slices.DeleteFunc(slices.Clone(of), func(o *stream) bool { return o == s })
		}
		member := rapid.SampledFrom([]string{"ann", "bob", "cid"})
		room := rapid.SampledFrom([]string{"r", "s", "t"})
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"add", "add", "remove", "join", "leave"}).Draw(t, "what") {
			case "add":
				s := &stream{conn: driver.Conn{ID: fmt.Sprint(step), Member: member.Draw(t, "member")}}
				in := rapid.SliceOfN(room, 0, 4).Draw(t, "rooms")
				require.NoError(t, a.add(s, in, 0), "not taken in")
				all, members[s.conn.Member] = append(all, s), append(members[s.conn.Member], s)
				for _, r := range in {
					if !slices.Contains(rooms[r], s) {
						rooms[r] = append(rooms[r], s)
					}
				}
			case "remove":
				if len(all) == 0 {
					continue
				}
				s := rapid.SampledFrom(all).Draw(t, "who")
				times := 0
				for range 2 {
					a.remove(s, func() { times++ })
				}
				require.Equal(t, 1, times, "not removed once")
				all, members[s.conn.Member] = without(all, s), without(members[s.conn.Member], s)
				for r := range rooms {
					rooms[r] = without(rooms[r], s)
				}
			case "join":
				m, r := member.Draw(t, "member"), room.Draw(t, "room")
				a.join(m, r)
				for _, s := range members[m] {
					if !slices.Contains(rooms[r], s) {
						rooms[r] = append(rooms[r], s)
					}
				}
			case "leave":
				m, r := member.Draw(t, "member"), room.Draw(t, "room")
				a.leave(m, r)
				for _, s := range members[m] {
					rooms[r] = without(rooms[r], s)
				}
			}
			told := func(kind driver.Kind, to string, want []*stream) {
				var got []*stream
				a.each(kind, to, func(s *stream) { got = append(got, s) })
				for _, s := range want {
					require.Containsf(t, got, s, "%v %s: a stream is not told", kind, to)
				}
				require.Lenf(t, got, len(want), "%v %s: %d are told", kind, to, len(got))
			}
			told(driver.ToAll, "", all)
			filled := 0
			for _, m := range []string{"ann", "bob", "cid"} {
				told(driver.ToMember, m, members[m])
			}
			for _, r := range []string{"r", "s", "t"} {
				told(driver.ToRoom, r, rooms[r])
				if len(rooms[r]) > 0 {
					filled++
				}
			}
			if streams, _, in := a.size(); streams != len(all) || in != filled || len(a.all()) != len(all) {
				t.Fatalf("%d streams in %d rooms, want %d in %d", streams, in, len(all), filled)
			}
		}
	})
}

// A lean stream outlives its request by hours. A part of the request's text would keep all of
// it in memory, which the client chooses: up to a megabyte of address.
func TestAStreamKeepsNoTextOfItsRequest(t *testing.T) {
	hub := &Hub{cfg: Config{}.withDefaults(), audience: newAudience(10, 10)}
	request := httptest.NewRequest(http.MethodGet, "/rooms/lobby?lastEventId=7", nil)
	room, id := request.URL.Path[len("/rooms/"):], request.URL.Query().Get("lastEventId")
	s := &stream{hub: hub, conn: driver.Conn{Member: "m", ID: "i.1"}, cursors: hub.cursorsOf(request)}
	require.NoError(t, hub.audience.add(s, []string{room}, 0))
	for kept, part := range map[string]string{s.seats[0].room: room, s.cursors[0]: id} {
		if kept != part || unsafe.StringData(kept) == unsafe.StringData(part) {
			t.Errorf("%q is kept of %q, in the request's memory", kept, part)
		}
	}
}

// Each loss of the broker queues all streams for a replay, and the store may be slower than the
// broker flaps.
func TestAFlappingBrokerQueuesEachStreamOnce(t *testing.T) {
	r := &resyncer{wake: make(chan struct{}, 1)}
	streams := []*stream{{}, {}, {}}
	for _, s := range streams[1:] {
		s.replay = func(context.Context, Cursors) (Missed, error) { return Missed{}, nil }
	}
	for range 100 {
		r.add(streams)
	}
	for _, want := range []*stream{streams[1], streams[2], nil} {
		if got := r.next(); got != want {
			t.Fatalf("next is %p, want %p", got, want)
		}
	}
	if r.add(streams); r.next() != streams[1] {
		t.Error("a stream is not queued again")
	}
}
