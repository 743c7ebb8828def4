package redissse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse/driver"
)

// A published text is a message of ours, or ignored; a channel of events never
// disconnects with half a name.
func FuzzDecode(f *testing.F) {
	f.Add(`{"memberId":"m","connectionId":"c"}`, true)
	f.Add(string(driver.Message{Kind: driver.ToMember, To: "m", Frame: []byte("data: x\n\n")}.Append(nil)), false)
	f.Add(string(driver.Message{Kind: driver.Disconnect, To: "m", Arg: "c"}.Append(nil)), true)
	f.Add(`{"memberId":""}`, true)
	f.Fuzz(func(t *testing.T, payload string, disconnects bool) {
		b := &broker{channels: make([]string, channels+1)}
		for i := range b.channels {
			b.channels[i] = "events:" + string(rune('a'+i))
		}
		channel := b.channels[0]
		if disconnects {
			channel = b.channels[channels]
		}
		m, ok := b.decode(channel, payload)
		switch {
		case !ok:
		case disconnects && (m.Kind != driver.Disconnect || m.To == "" || m.Arg == "" || m.Frame != nil):
			t.Fatalf("%q is read as %+v", payload, m)
		case !disconnects:
			if again, err := driver.ParseMessage(m.Append(nil)); err != nil || again.To != m.To || string(again.Frame) != string(m.Frame) {
				t.Fatalf("%+v comes back as %+v, %v", m, again, err)
			}
		}
	})
}

// The script's answer names as many connections as it says, or is refused.
func FuzzOpened(f *testing.F) {
	f.Add("known", int64(0), int64(0), "")
	f.Add("opened", int64(2), int64(1), "a b c d")
	f.Add("opened", int64(0), int64(-1), "a b")
	f.Add("opened", int64(0), int64(1<<62), "a b")
	f.Add("opened", int64(0), int64(0), "a")
	f.Fuzz(func(t *testing.T, word string, ghosts, replaced int64, names string) {
		answer := []any{word}
		if word != "known" {
			answer = append(answer, ghosts, replaced)
		}
		rest := strings.Fields(names)
		for _, name := range rest {
			answer = append(answer, name)
		}
		o, ok := readOpened("m", answer)
		if !ok || word == "known" {
			require.Equalf(t, 0, len(o.Replaced)+len(o.Evicted), "%v closes %+v", answer, o)
			return
		}
		if int64(len(o.Replaced)) != replaced || len(o.Replaced)+len(o.Evicted) != len(rest)/2 {
			t.Fatalf("%v is read as %+v", answer, o)
		}
		for i, c := range append(o.Replaced, o.Evicted...) {
			if c.Member != "m" || c.ID != rest[2*i] || c.Token != rest[2*i+1] {
				t.Fatalf("%v is read as %+v", answer, o)
			}
		}
	})
}
