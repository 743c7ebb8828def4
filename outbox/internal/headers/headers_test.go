package headers

import (
	"maps"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/event"
)

func TestRoundTrip(t *testing.T) {
	var d Decoder // one for all: it must not mix them up
	for _, c := range []struct {
		m    message.Metadata
		key  string
		text string
	}{
		{nil, "", ""},
		{message.Metadata{"b": "1", "a": "\"\n"}, "", `{"a":"\"\n","b":"1"}`},
		{message.Metadata{event.KeyHeader: "k"}, "k", ""},
		{message.Metadata{event.KeyHeader: "k", "a": "1"}, "k", `{"a":"1"}`},
		{message.Metadata{event.KeyHeader: "other", "a": "1"}, "", `{"a":"1","partitionkey":"other"}`},
		{message.Metadata{event.KeyHeader: "k"}, "k", ""},
	} {
		text := Encode(c.m, c.key)
		assert.Equalf(t, c.text, text, "Encode(%v, %q) = %q", c.m, c.key, text)
		for range 2 {
			got := message.Metadata{}
			if err := d.Decode(got, text, c.key); err != nil || !maps.Equal(got, c.m) {
				t.Errorf("%v came back as %v, %v", c.m, got, err)
			}
			got["changed"] = "by the publisher"
		}
	}
}

func TestDecodeRejects(t *testing.T) {
	var d Decoder
	assert.Error(t, d.Decode(message.Metadata{}, `["no object"]`, ""), "an array was taken for headers")
}
