// Package headers encodes a message's metadata for the outbox: as a JSON object of strings. The
// partition key is left out, because it has its own column. So messages of one kind share one
// text, which is decoded once.
package headers

import (
	"encoding/json"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/jsonmap"
)

// Encode returns the text of metadata whose partition key is key.
func Encode(m message.Metadata, key string) string {
	switch {
	case key == "" || m[event.KeyHeader] != key:
		if len(m) == 0 {
			return ""
		}
		return jsonmap.Encode(m)
	case len(m) == 1:
		return ""
	}
	return jsonmap.Encode(m, event.KeyHeader)
}

// Decoder decodes texts to metadata and caches the last one. The zero value is ready; it is not
// safe for concurrent use.
type Decoder struct {
	text string
	m    map[string]string
}

// Decode adds the decoded headers to into.
func (d *Decoder) Decode(into message.Metadata, text, key string) error {
	if text != d.text {
		var m map[string]string
		if text != "" {
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				return fmt.Errorf("decode the headers: %w", err)
			}
		}
		d.text, d.m = text, m
	}
	for k, v := range d.m {
		into[k] = v
	}
	if key != "" {
		into[event.KeyHeader] = key
	}
	return nil
}
