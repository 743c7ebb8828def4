// Package headers is how a message's metadata stands in the outbox: a JSON
// object of strings. The partition key is left out, because it has a column of
// its own; so messages of one kind share one text, which is decoded once.
package headers

import (
	"encoding/json"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// Encode returns the text of metadata whose partition key is key.
func Encode(m message.Metadata, key string) (string, error) {
	n := len(m)
	omit := key != "" && m[event.KeyHeader] == key
	if omit {
		n--
	}
	if n == 0 {
		return "", nil
	}
	if omit {
		rest := make(message.Metadata, n)
		for k, v := range m {
			if k != event.KeyHeader {
				rest[k] = v
			}
		}
		m = rest
	}
	text, err := json.Marshal(m) // sorts the names, so equal metadata is equal text
	if err != nil {
		return "", fmt.Errorf("encode the headers: %w", err)
	}
	return string(text), nil
}

// Decoder turns texts back into metadata and remembers the last one. The zero
// value is ready; it is not safe for concurrent use.
type Decoder struct {
	text string
	m    map[string]string
}

// Decode fills metadata.
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
