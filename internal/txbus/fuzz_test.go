package txbus

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Any row can be shown: metadata that cannot be decoded is left out.
func FuzzMessage(f *testing.F) {
	f.Add("id", []byte("{}"), []byte(`{"a":"b"}`))
	f.Add("", []byte(nil), []byte(`{"a":1}`))
	f.Add("id", []byte{0xff}, []byte("null"))
	f.Fuzz(func(t *testing.T, id string, payload, metadata []byte) {
		m := messageOf(id, payload, metadata)
		if m.UUID != id || string(m.Payload) != string(payload) || m.Metadata == nil {
			t.Fatalf("%q is shown as %+v", metadata, m)
		}
		var want message.Metadata
		if json.Unmarshal(metadata, &want) == nil && !maps.Equal(m.Metadata, want) {
			t.Fatalf("%q is shown as %v", metadata, m.Metadata)
		}
		m.Metadata.Set("x", "writable")
	})
}
