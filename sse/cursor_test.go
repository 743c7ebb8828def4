package sse

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/sse/driver"
)

var names = []string{"notification", "chat", "sale"}

func TestCursorsOfOneNameLeaveTheOthers(t *testing.T) {
	for _, c := range []struct {
		ids  []string
		want string
	}{
		{[]string{"7", "", ""}, "7"},
		{[]string{"7", "9", ""}, "7;chat=9"},
		{[]string{"", "9", ""}, ";chat=9"},
		{[]string{"7", "", "x"}, "7;sale=x"},
		{[]string{"7", "9", "x"}, "7;chat=9;sale=x"},
	} {
		got := formatID(names, c.ids)
		back, ok := parseID(names, got)
		if got != c.want || !ok || !slices.Equal(back, c.ids) {
			t.Errorf("%q is written %q, want %q, and read %q, %v", c.ids, got, c.want, back, ok)
		}
	}
}

func TestCursorsThatAreNotOurs(t *testing.T) {
	for _, s := range []string{
		"", " 7", "7 ", "7;", "7;chat", "7;chat=", "7;chat=9;chat=8", "7;sale=1;chat=9", "7;other=1", "7;notification=8",
		"7;chat=9;", "7;chat=a b", "7;chat=a=b", "a=b", "\x01", "ü", strings.Repeat("7", maxEventID+1), strings.Repeat("7", 5000),
	} {
		if ids, ok := parseID(names, s); ok {
			t.Errorf("%q is read as %q", s, ids)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("7;chat=9;sale=x")
	f.Add(";chat=9")
	f.Fuzz(func(t *testing.T, s string) {
		if ids, ok := parseID(names, s); ok && formatID(names, ids) != s {
			t.Fatalf("%q is read as %q, which is written %q", s, ids, formatID(names, ids))
		}
	})
}

func TestMessageRoundTrip(t *testing.T) {
	for _, m := range []driver.Message{
		{Kind: driver.ToAll},
		{Kind: driver.ToMember, To: "m", Event: "notification", ID: "7", Frame: []byte("data: x\n\n")},
		{Kind: driver.Disconnect, To: strings.Repeat("m", 300), Arg: "i.1"},
	} {
		got, err := driver.ParseMessage(m.Append(nil))
		if err != nil || got.Kind != m.Kind || got.To != m.To || got.Arg != m.Arg || got.Event != m.Event || got.ID != m.ID || !bytes.Equal(got.Frame, m.Frame) {
			t.Errorf("%+v comes as %+v, %v", m, got, err)
		}
		if len(m.Append(nil)) > m.Size() {
			t.Errorf("%+v is longer than its size", m)
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add(driver.Message{Kind: driver.ToMember, To: "m", Frame: []byte("data: x\n\n")}.Append(nil))
	f.Add([]byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := driver.ParseMessage(b)
		if err != nil {
			return
		}
		if again, err := driver.ParseMessage(m.Append(nil)); err != nil || again.To != m.To || !bytes.Equal(again.Frame, m.Frame) {
			t.Fatalf("%+v comes as %+v, %v", m, again, err)
		}
	})
}
