package natsbus

import (
	"maps"
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/rawurl"
)

// Metadata comes back whole over the wire, or is refused because NATS cannot carry it.
func FuzzMetadata(f *testing.F) {
	f.Add("ce_type", "Paid", "")
	f.Add("", "\xff\x00", strings.Repeat("a", 300))
	f.Add("Nats-Msg-Id", " x", "two\r\nlines")
	f.Add(idHeader, restHeader, "a: b")
	f.Add("\x85", "\u2028", "é")
	f.Fuzz(func(t *testing.T, name, text, other string) {
		want := message.Metadata{name: text, other: name}
		encoded, err := headers{}.Encode(want)
		if err != nil {
			if utf8.ValidString(name) && utf8.ValidString(text) && utf8.ValidString(other) {
				t.Fatal(err)
			}
			return
		}
		l := &store{link: &link{names: "p"}}
		l.lanes.Number(logsub.Topic{Name: "t", Partitions: 1})
		wire := "NATS/1.0\r\n"
		for name, values := range l.message(log.Entry{Topic: "t", MessageID: "id", Headers: encoded}).Header {
			wire += name + ": " + values[0] + "\r\n"
		}
		arrived, err := nats.DecodeHeadersMsg([]byte(wire + "\r\n"))
		require.NoErrorf(t, err, "%q", wire)
		got, err := headers{}.Decode(linesOf(arrived))
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%q comes back as %q, %v", want, got, err)
		}
	})
}

// A name is one token of a subject and of a key, and comes back.
func FuzzToken(f *testing.F) {
	f.Add("payment.events")
	f.Add("a=b*>\x00 é")
	f.Fuzz(func(t *testing.T, name string) {
		text := token(name)
		require.Falsef(t, strings.ContainsAny(text, ".*> \t\r\n/\\+"), "%q has the token %q", name, text)
		if back, err := untoken(text); err != nil || back != name {
			t.Fatalf("%q comes back as %q, %v", name, back, err)
		}
	})
}

// A URL names servers with ports, or is refused.
func FuzzURL(f *testing.F) {
	f.Add("nats://u:p@h1:4222,h2:4222/?partitions=3")
	f.Add("tls://h")
	f.Add("nats://[::1]:1,h")
	f.Add("nats://,")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := rawurl.Parse(raw)
		if err != nil {
			return
		}
		if u.Query().Has("ca") || u.Query().Has("cert") || u.Query().Has("key") || u.Query().Has("creds") {
			t.Skip() // it names files of this machine
		}
		client, _, err := parse(u, Config{})
		if err != nil {
			return
		}
		for _, address := range client.Servers {
			if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
				t.Fatalf("%q names the server %q: %v", raw, address, err)
			}
		}
		if len(client.Servers) == 0 {
			t.Fatalf("%q names no server", raw)
		}
	})
}
