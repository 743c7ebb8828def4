package sse

import (
	"fmt"
	"slices"
	"testing"

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
				if a.add(s, in, 0) != nil {
					t.Fatal("not taken in")
				}
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
				if times != 1 {
					t.Fatal("not removed once")
				}
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
					if !slices.Contains(got, s) {
						t.Fatalf("%v %s: a stream is not told", kind, to)
					}
				}
				if len(got) != len(want) {
					t.Fatalf("%v %s: %d are told, want %d", kind, to, len(got), len(want))
				}
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
