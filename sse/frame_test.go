package sse_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse"
)

// The cases of the standard. The tests' own client has to pass them before it can
// judge the frames of a hub.
func TestTheReferenceParser(t *testing.T) {
	m := func(data ...string) (all []told) {
		for _, d := range data {
			all = append(all, told{Name: "message", Data: d})
		}
		return all
	}
	for name, c := range map[string]struct {
		stream  string
		want    []told
		retries []string
	}{
		"one line":               {stream: "data: a\n\n", want: m("a")},
		"two lines":              {stream: "data: a\ndata: b\n\n", want: m("a\nb")},
		"byte order mark":        {stream: "\ufeffdata: a\n\n", want: m("a")},
		"two byte order marks":   {stream: "\ufeff\ufeffdata: a\n\ndata: b\n\n", want: m("b")},
		"mark in the middle":     {stream: "data: a\n\n\ufeffdata: b\n\n", want: m("a")},
		"carriage returns":       {stream: "data: a\rdata: b\r\r", want: m("a\nb")},
		"CRLF":                   {stream: "data: a\r\ndata: b\r\n\r\n", want: m("a\nb")},
		"mixed line ends":        {stream: "data:a\r\ndata:b\ndata:c\r\r\ndata:d\n\r", want: m("a\nb\nc", "d")},
		"comments":               {stream: ":\n: data: no\ndata: a\n:x\n\n", want: m("a")},
		"data without a colon":   {stream: "data\n\ndata\ndata\n\ndata:x\n\n", want: m("", "\n", "x")},
		"only one space goes":    {stream: "data:  a\n\ndata:\tb\n\n", want: m(" a", "\tb")},
		"a colon in the value":   {stream: "data:a:b\n\n", want: m("a:b")},
		"field names are exact":  {stream: "Data: a\ndata : b\n data: c\ndatax: d\n\ndata: e\n\n", want: m("e")},
		"unknown fields":         {stream: "foo: x\ndata: a\nbar\n\n", want: m("a")},
		"no data, no event":      {stream: "event: x\nid: 1\n\ndata: a\n\n", want: []told{{"message", "a", "1"}}},
		"partial event":          {stream: "data: a\n\ndata: b\n", want: m("a")},
		"named":                  {stream: "event: x\ndata: a\n\ndata: b\n\n", want: []told{{"x", "a", ""}, {"message", "b", ""}}},
		"empty name":             {stream: "event: x\nevent:\ndata: a\n\n", want: m("a")},
		"an id stays":            {stream: "id: 1\ndata: a\n\ndata: b\n\n", want: []told{{"message", "a", "1"}, {"message", "b", "1"}}},
		"an id without a value":  {stream: "id: 1\ndata: a\n\nid\ndata: b\n\n", want: []told{{"message", "a", "1"}, {"message", "b", ""}}},
		"an id with NUL":         {stream: "id: 1\ndata: a\n\nid: 2\x003\ndata: b\n\n", want: []told{{"message", "a", "1"}, {"message", "b", "1"}}},
		"a NUL in data":          {stream: "data: a\x00b\n\n", want: m("a\x00b")},
		"retry":                  {stream: "retry: 100\n\nretry: 1a\nretry: -1\nretry:\nretry: 1.5\nretry:0002\n\n", retries: []string{"100", "0002"}},
		"not UTF-8":              {stream: "data: \xff\n\n", want: m("\ufffd")},
		"nothing":                {stream: ""},
		"empty lines":            {stream: "\n\n\r\n\r\rdata:a\n\n", want: m("a")},
		"an LF after CR is one":  {stream: "data: a\r\n\ndata: b\r\n\r\n", want: m("a", "b")},
		"a trailing CR ends too": {stream: "data: a\n\r", want: m("a")},
	} {
		events, retries := parse(c.stream)
		if !slices.Equal(events, c.want) || !slices.Equal(retries, c.retries) {
			t.Errorf("%s: %q and %q, want %q and %q", name, events, retries, c.want, c.retries)
		}
	}
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		event sse.Event
		want  string
	}{
		{sse.Event{}, "data: \n\n"},
		{sse.Event{Data: []byte("a")}, "data: a\n\n"},
		{sse.Event{Name: "n", ID: "7", Data: []byte("a")}, "event: n\ndata: a\nid: 7\n\n"},
		{sse.Event{Data: []byte("a\nb\rc\r\nd\n\re\r\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: e\ndata: \n\n"},
		{sse.Event{Data: []byte("a\n\nevent: evil\ndata: x")}, "data: a\ndata: \ndata: event: evil\ndata: data: x\n\n"},
		{sse.Event{Data: []byte(" a")}, "data:  a\n\n"},
	} {
		got, err := sse.Encode(c.event)
		if err != nil || string(got) != c.want {
			t.Errorf("%q is encoded %q, %v; want %q", c.event, got, err, c.want)
		}
	}
}

func TestEncodeRefusesFieldsThatWouldInject(t *testing.T) {
	for _, e := range []sse.Event{
		{Name: "a\nb"}, {Name: "a\rb"}, {ID: "a\nb"}, {ID: "a\rb"}, {ID: "a\x00b"},
	} {
		b, err := sse.Encode(e)
		if !errors.Is(err, sse.ErrInvalid) || fault.Of(err) != fault.Permanent || b != nil {
			t.Errorf("%q is encoded %q, %v", e, b, err)
		}
	}
}

// FuzzEncode: for any encoded event, a client sees one event, equal to it.
func FuzzEncode(f *testing.F) {
	f.Add("notification", "1", "a\r\nb")
	f.Add("", "", "")
	f.Add("\ufeff", " 1", "\r\r\n\n:x")
	f.Add("a:b", "a;b", "data: \x00\nid: 9\n\n\n")
	f.Fuzz(func(t *testing.T, name, id, data string) {
		b, err := sse.Encode(sse.Event{Name: name, ID: id, Data: []byte(data)})
		if bad := strings.ContainsAny(name+id, "\r\n") || strings.Contains(id, "\x00"); bad != (err != nil) {
			t.Fatalf("encoding is refused: %v", err)
		} else if bad {
			return
		}
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
		want := []told{
			{Name: decode([]byte(name)), LastID: decode([]byte(id)), Data: lines.Replace(data)},
			{Name: "after", Data: "x", LastID: decode([]byte(id))},
		}
		parts := strings.Split(want[0].Data, "\n") // a client decodes line by line
		for i := range parts {
			parts[i] = decode([]byte(parts[i]))
		}
		want[0].Data = strings.Join(parts, "\n")
		if name == "" {
			want[0].Name = "message"
		}
		// A stream's first frame is retry: a byte order mark after it is data.
		got, _ := parse("retry: 1\n\n" + string(b) + "event: after\ndata: x\n\n")
		if !slices.Equal(got, want) {
			t.Fatalf("%q is read as %q, want %q", b, got, want)
		}
	})
}
