package sse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse"
)

// long is a field beyond any buffer on the way.
var long = strings.Repeat("0123456789abcdef ünïcode ", 12_000)

// parsing are streams that any server may send, after those of the
// web-platform-tests, and the events that a client dispatches.
var parsing = []struct {
	name, stream string
	want         []told
}{
	{"a mark at the beginning is none of it", "\ufeffdata: 1\n\ndata: 2\n\n", []told{{"message", "1", ""}, {"message", "2", ""}}},
	{"only one mark", "\ufeff\ufeffdata: 1\n\ndata: 2\n\n", []told{{"message", "2", ""}}},
	{"a mark later begins a field's name", "data: 1\n\n\ufeffdata: 2\n\ndata: 3\n\n", []told{{"message", "1", ""}, {"message", "3", ""}}},
	{"comments", "data:1\r:\x00\n:\r\ndata:2\n:" + long[:2048] + "\rdata:3\n:data:no\r:\ndata:4\n\n", []told{{"message", "1\n2\n3\n4", ""}}},
	{"comments are no event", ":ok\n\n: ok\n\ndata: 1\n\n", []told{{"message", "1", ""}}},
	{"without its empty line it is no event", "data: 1\n\nretry: 1000\ndata: 2", []told{{"message", "1", ""}}},
	{"an end of line is no empty line", "data: 1\n\nid: 7\ndata: 2\n", []told{{"message", "1", ""}}},
	{"data without a colon", "data:\n\ndata\ndata\n\ndata:test\n\n", []told{{"message", "", ""}, {"message", "\n", ""}, {"message", "test", ""}}},
	{"an event of an empty name", "event: \ndata: 1\n\nevent\ndata: 2\n\n", []told{{"message", "1", ""}, {"message", "2", ""}}},
	{"an event's name is of that event", "event: x\ndata: 1\n\ndata: 2\n\n", []told{{"x", "1", ""}, {"message", "2", ""}}},
	{"the last name counts", "event: y\nevent: x\ndata: 1\n\n", []told{{"x", "1", ""}}},
	{"a name of an event without data is dropped", "event: x\n\ndata: 1\n\n", []told{{"message", "1", ""}}},
	{"a name with a space", "event:  x\ndata: 1\n\nevent:x \ndata: 2\n\n", []told{{" x", "1", ""}, {"x ", "2", ""}}},
	{"names of fields are exact", "data:\x00\ndata:  2\rData:1\ndata\x00:2\ndata:1\r\x00data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n", []told{{"message", "\x00\n 2\n1\n3\n\n4", ""}}},
	{"unknown fields", "data:1\n data:2\ndata\n:data\ndatas:3\nfoo:bar\nfoobar\nthis.is.none\ndata:4\n\n", []told{{"message", "1\n\n4", ""}}},
	{"one leading space", "data:\ttest\rdata: \ndata:test\n\n", []told{{"message", "\ttest\n\ntest", ""}}},
	{"more leading spaces", "data:   x\n\n", []told{{"message", "  x", ""}}},
	{"an empty field", "data: \n\n", []told{{"message", "", ""}}},
	{"a colon in a value", "data: a: b:c\n\n", []told{{"message", "a: b:c", ""}}},
	{"line feeds", "data: 1\ndata: 2\n\n", []told{{"message", "1\n2", ""}}},
	{"carriage returns", "data: 1\rdata: 2\r\r", []told{{"message", "1\n2", ""}}},
	{"both", "data: 1\r\ndata: 2\r\n\r\n", []told{{"message", "1\n2", ""}}},
	{"any", "data:test\r\ndata\ndata:test\r\n\r\ndata:1\n\rdata:2\r\rdata:3\r\n\n", []told{{"message", "test\n\ntest", ""}, {"message", "1", ""}, {"message", "2", ""}, {"message", "3", ""}}},
	{"empty lines", "\n\n\r\r\r\n\r\ndata:1\n\n\n\n\r", []told{{"message", "1", ""}}},
	{"an id stays", "id: 1\ndata: 1\n\ndata: 2\n\nid: 2\ndata: 3\n\n", []told{{"message", "1", "1"}, {"message", "2", "1"}, {"message", "3", "2"}}},
	{"an id of an event without data stays", "id: 1\n\ndata: 1\n\n", []told{{"message", "1", "1"}}},
	{"an empty id takes it away", "id: 1\ndata: 1\n\nid\ndata: 2\n\nid: 2\ndata: 3\n\nid:\ndata: 4\n\n", []told{{"message", "1", "1"}, {"message", "2", ""}, {"message", "3", "2"}, {"message", "4", ""}}},
	{"an id with NUL is none", "id: 1\ndata: 1\n\nid: 2\x003\ndata: 2\n\nid: \x00\ndata: 3\n\n", []told{{"message", "1", "1"}, {"message", "2", "1"}, {"message", "3", "1"}}},
	{"an id of other letters", "id: …é\ndata: 1\n\n", []told{{"message", "1", "…é"}}},
	{"the last id counts", "id: 1\ndata: 1\nid: 2\n\n", []told{{"message", "1", "2"}}},
	{"NUL in data", "data:\x00\n\ndata: a\x00b\n\n", []told{{"message", "\x00", ""}, {"message", "a\x00b", ""}}},
	{"what is not UTF-8", "data: a\xffb\n\ndata: \xe2\x82\n\ndata\xff: no\n\n", []told{{"message", "a\ufffdb", ""}, {"message", "\ufffd", ""}}},
	{"UTF-8", "data: ok…\n\ndata: 안녕 🎫\n\n", []told{{"message", "ok…", ""}, {"message", "안녕 🎫", ""}}},
	{"separators that end no line", "data: a\u2028b\u0085c\vd\fe\n\n", []told{{"message", "a\u2028b\u0085c\vd\fe", ""}}},
	{"retry is no event", "retry: 3000\n\nretry: x\ndata: 1\n\nretry:\nretry\nretry: 1e3\nretry: -1\ndata: 2\n\n", []told{{"message", "1", ""}, {"message", "2", ""}}},
	{"a very large field", "data: " + long + "\n\n", []told{{"message", long, ""}}},
	{"very many lines", strings.Repeat("data: x\n", 20_000) + "\n", []told{{"message", strings.Repeat("x\n", 19_999) + "x", ""}}},
	{"nothing", "", nil},
}

// sending are events of a hub, and as each client has to dispatch them.
var sending = []struct {
	name  string
	event sse.Event
	want  told
}{
	{"plain", sse.Event{Data: []byte("hello")}, told{"message", "hello", ""}},
	{"no data", sse.Event{Name: "x"}, told{"x", "", ""}},
	{"line ends", sse.Event{Data: []byte("a\nb\rc\r\nd\n\re\r\r\nf\n\n")}, told{"message", "a\nb\nc\nd\n\ne\n\nf\n\n", ""}},
	{"only line ends", sse.Event{Data: []byte("\r\n\r\n")}, told{"message", "\n\n", ""}},
	{"fields in data", sse.Event{Data: []byte("1\n\nevent: evil\nid: 9\nretry: 1\n\ndata: x")}, told{"message", "1\n\nevent: evil\nid: 9\nretry: 1\n\ndata: x", ""}},
	{"comments in data", sse.Event{Data: []byte(":1\n:2")}, told{"message", ":1\n:2", ""}},
	{"spaces", sse.Event{Data: []byte("  a \n b\t\n\tc")}, told{"message", "  a \n b\t\n\tc", ""}},
	{"a mark in data", sse.Event{Data: []byte("\ufeffa\n\ufeffb")}, told{"message", "\ufeffa\n\ufeffb", ""}},
	{"NUL in data", sse.Event{Data: []byte("a\x00b")}, told{"message", "a\x00b", ""}},
	{"UTF-8", sse.Event{Data: []byte("안녕 🎫 …\u2028\u0085")}, told{"message", "안녕 🎫 …\u2028\u0085", ""}},
	{"what is not UTF-8", sse.Event{Data: []byte("a\xffb")}, told{"message", "a\ufffdb", ""}},
	{"a name with a colon", sse.Event{Name: "a:b", Data: []byte("1")}, told{"a:b", "1", ""}},
	{"a name with spaces", sse.Event{Name: " a b ", Data: []byte("1")}, told{" a b ", "1", ""}},
	{"a name of other letters", sse.Event{Name: "알림", Data: []byte("1")}, told{"알림", "1", ""}},
	{"JSON", sse.Event{Name: "x", Data: []byte(`{"message":"a\nb","n":[1,2]}`)}, told{"x", `{"message":"a\nb","n":[1,2]}`, ""}},
	{"a very large field", sse.Event{Data: []byte(long)}, told{"message", long, ""}},
	{"very many lines", sse.Event{Data: []byte(strings.Repeat("x\r\n", 20_000))}, told{"message", strings.Repeat("x\n", 20_000), ""}},
	{"an id", sse.Event{Name: "notification", ID: "a-1:2", Data: []byte("1")}, told{"notification", "1", "a-1:2"}},
	{"an id stays", sse.Event{Data: []byte("2")}, told{"message", "2", "a-1:2"}},
	{"another's id", sse.Event{Name: "chat", ID: "room:9", Data: []byte("3\n4")}, told{"chat", "3\n4", "a-1:2;chat=room:9"}},
	{"a next id", sse.Event{Name: "notification", ID: "!~\"#,", Data: []byte("5")}, told{"notification", "5", "!~\"#,;chat=room:9"}},
}

// encoded are events that only Encode writes, with ids that are no cursors.
var encoded = []struct {
	event sse.Event
	want  told
}{
	{sse.Event{ID: " 1 ;=", Data: []byte("a")}, told{"message", "a", " 1 ;="}},
	{sse.Event{ID: "…é안", Data: []byte("a")}, told{"message", "a", "…é안"}},
	{sse.Event{Name: "x", ID: ":1:", Data: []byte("\na\n")}, told{"x", "\na\n", ":1:"}},
}

// departs are the streams of which the npm package dispatches something else. It
// reports an event's own id instead of the last one, which it does send when it
// comes back; and it holds a CR back until the next byte, in case that is an LF.
var departs = map[string][]told{
	"carriage returns":                     nil,
	"an id stays":                          {{"message", "1", "1"}, {"message", "2", ""}, {"message", "3", "2"}},
	"an id of an event without data stays": {{"message", "1", ""}},
	"an id with NUL is none":               {{"message", "1", "1"}, {"message", "2", ""}, {"message", "3", ""}},
}

func names() (all []string) {
	all = []string{"message"}
	add := func(e told) {
		if !slices.Contains(all, e.Name) {
			all = append(all, e.Name)
		}
	}
	for _, c := range parsing {
		for _, e := range c.want {
			add(e)
		}
	}
	for _, c := range sending {
		add(c.want)
	}
	return all
}

// Browsers, the npm package and the tests' own client read any stream alike,
// whole and byte by byte.
func TestProgramsReadStreamsAlike(t *testing.T) {
	const bytewise = ", byte by byte"
	var paths, labels, streams []string
	var want [][]told
	add := func(name, stream string, events []told) {
		n := len(streams)
		streams = append(streams, stream)
		paths, labels, want = append(paths, fmt.Sprint("/case?n=", n)), append(labels, name), append(want, events)
		if len(stream) < 1000 {
			paths, labels, want = append(paths, fmt.Sprint("/case?bytewise&n=", n)), append(labels, name+bytewise), append(want, events)
		}
	}
	for _, c := range parsing {
		add(c.name, c.stream, c.want)
	}
	for i, c := range encoded {
		b, err := sse.Encode(c.event)
		must(t, err)
		add(fmt.Sprint("encoded ", i), string(b), []told{c.want})
	}
	d := openDoor(t, nil, streams...)
	judge := func(t *testing.T, got [][]told, departs map[string][]told) {
		t.Helper()
		require.Lenf(t, got, len(want), "%d streams were read of %d", len(got), len(want))
		for i, want := range want {
			if other, ok := departs[strings.TrimSuffix(labels[i], bytewise)]; ok {
				want = other
			}
			if !slices.Equal(got[i], want) {
				t.Errorf("%s: %.500q, want %.500q", labels[i], fmt.Sprint(got[i]), fmt.Sprint(want))
			}
		}
	}
	t.Run("reference", func(t *testing.T) {
		var got [][]told
		for _, path := range paths {
			c := dial(t, d.server.URL+path)
			<-c.ended
			var events []told
			for len(c.events) > 0 {
				events = append(events, <-c.events)
			}
			got = append(got, events)
		}
		judge(t, got, nil)
	})
	for _, p := range allPrograms {
		if p.read != nil {
			t.Run(p.name, func(t *testing.T) {
				got := p.read(t, d.server.URL, paths, names())
				if p.name == "npm" {
					judge(t, got, departs)
				} else {
					judge(t, got, nil)
				}
			})
		}
	}
}

// Each client dispatches the events of a hub unchanged.
func TestProgramsReadWhatHubsSend(t *testing.T) {
	programs(t, func(t *testing.T, p program) {
		both(t, func(t *testing.T, lean bool) {
			s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, MaxBytes: 4 << 20})
			d := openDoor(t, s)
			w := p.start(t, d.server.URL)("/stream?tab=one", names()...)
			w.opened()
			reference := dial(t, d.server.URL+"/stream?ticket=ann.two")
			for _, c := range sending {
				must(t, s.ToMember(t.Context(), "ann", c.event))
			}
			w.until("all has come", func(seen []report) bool { return len(events(seen)) >= len(sending) })
			for i, got := range events(w.reports()) {
				want := sending[i].want
				if p.name == "npm" && sending[i].event.ID == "" {
					want.LastID = "" // see departs
				}
				if got != want {
					t.Errorf("%s: %.500q, want %.500q", sending[i].name, got, want)
				}
			}
			for _, c := range sending {
				if got := reference.next(); got != c.want {
					t.Errorf("%s, as the standard has it: %.500q, want %.500q", c.name, got, c.want)
				}
			}
		})
	})
}

// A retry that is no number is ignored: a client then comes back after the time it
// had before, and not after days. At an empty retry, which a hub never sends,
// Chromium goes back to its own 3 s.
func TestProgramsHeedRetryWhenItIsANumber(t *testing.T) {
	for _, p := range allPrograms {
		if p.read == nil {
			continue // curl knows no such field
		}
		t.Run(p.name, func(t *testing.T) {
			d := openDoor(t, nil,
				"retry: 10\n\nretry: 999999999x\n\ndata: 1\n\n",
				"retry: 10\nretry: -1\ndata: 1\n\n",
				"retry: 999999999\nretry: 0010\ndata: 1\n\n")
			follow := p.start(t, d.server.URL)
			for i := range d.cases {
				w := follow(fmt.Sprint("/case?n=", i), "message")
				w.until("it has come back twice", func(seen []report) bool { return len(events(seen)) >= 3 })
			}
		})
	}
}
