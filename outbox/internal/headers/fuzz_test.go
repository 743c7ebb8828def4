package headers

import (
	"maps"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// FuzzDecode: a text that is not headers is an error and does not affect the next message with
// the same text; headers decode and encode to the same text.
func FuzzDecode(f *testing.F) {
	f.Add(`{"a":"b"}`, "k")
	f.Add(`{"a":1}`, "")
	f.Add(`null`, "k")
	f.Add("", "")
	f.Add(`{"`+event.KeyHeader+`":"x"}`, "y")
	f.Fuzz(func(t *testing.T, text, key string) {
		var d Decoder
		got := message.Metadata{}
		if err := d.Decode(got, text, key); err != nil {
			if again := d.Decode(message.Metadata{}, text, key); again == nil || len(got) != 0 {
				t.Fatalf("%q is refused once (%v), then taken; metadata %v", text, err, got)
			}
			return
		}
		if key != "" && got[event.KeyHeader] != key {
			t.Fatalf("the key %q is read as %q", key, got[event.KeyHeader])
		}
		encoded := Encode(got, key)
		again := message.Metadata{}
		if err := d.Decode(again, encoded, key); err != nil || !maps.Equal(again, got) {
			t.Fatalf("%v comes back as %v, %v", got, again, err)
		}
	})
}
