package amqpbus

import (
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/event"
)

// Whichever headers a foreign publisher sets, the message is delivered with its bytes, its
// id and text alone for metadata.
func FuzzDecode(f *testing.F) {
	f.Add("_watermill_message_uuid\tid\nce_type\tPaid", "id", "application/json", []byte("{}"), int64(7))
	f.Add("x-death\tn\nx-first-death-queue\tn", "", "", []byte(nil), int64(-1))
	f.Add("a\tb\na\tn\n\tt\n_watermill_message_uuid\tn", "\xff", "text/plain", []byte{0}, int64(0))
	f.Fuzz(func(t *testing.T, headers, id, contentType string, body []byte, n int64) {
		table := amqp.Table{}
		for line := range strings.SplitSeq(headers, "\n") {
			name, text, _ := strings.Cut(line, "\t")
			switch text {
			case "n":
				table[name] = n
			case "t":
				table[name] = time.Unix(n%1e10, 0)
			case "l":
				table[name] = []any{n, amqp.Table{name: n}}
			case "b":
				table[name] = []byte(name)
			case "0":
				table[name] = nil
			default:
				table[name] = text
			}
		}
		m := messageOf(amqp.Delivery{Headers: table, MessageId: id, ContentType: contentType, Body: body})
		if m.Metadata == nil || string(m.Payload) != string(body) {
			t.Fatalf("%v is read as %+v", table, m)
		}
		if table["_watermill_message_uuid"] == nil && m.ID != id {
			t.Fatalf("the message %q is called %q", id, m.ID)
		}
		if contentType != "" && m.Metadata[event.ContentTypeHeader] == "" {
			t.Fatalf("the content type %q is lost", contentType)
		}
		p, err := encode(m.Watermill())
		if err != nil {
			return // names that are too long for AMQP
		}
		if again := messageOf(amqp.Delivery{Headers: p.Headers, Body: p.Body}); again.ID != m.ID || len(again.Metadata) != len(m.Metadata) {
			t.Fatalf("%+v comes back as %+v", m, again)
		}
	})
}
