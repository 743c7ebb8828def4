package sqlidempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
)

// maxKey is the longest key stored as it is. Every database can index it.
const maxKey = 255

// id returns the values of the primary key's columns.
func (c Config) id(key string) ([]any, error) {
	if key == "" {
		return nil, idempotency.ErrEmptyKey
	}
	if c.Layout == EventHandled {
		return []any{stored(key)}, nil
	}
	group, rest, ok := strings.Cut(key, ":")
	if !ok || group == "" || rest == "" {
		return nil, fault.MarkPermanent(fmt.Errorf(
			"sqlidempotency: the key %q is not {group}:{rest}, which the layout %s needs; use the layout %s for other keys",
			key, ProcessedEvents, EventHandled))
	}
	return []any{stored(rest), stored(group)}, nil
}

// stored returns the text that stands for the key: itself, or its beginning and
// its hash when it is too long or no text for a database.
func stored(key string) string {
	text := clean(key)
	if len(key) <= maxKey && text == key {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	tail := "~" + hex.EncodeToString(sum[:])
	if room := maxKey - len(tail); len(text) > room {
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		text = text[:room]
	}
	return text + tail
}

// clean drops what PostgreSQL refuses in text: NUL and broken UTF-8. Such bytes
// in an informational column must not keep an event from being handled.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}
