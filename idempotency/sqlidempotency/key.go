package sqlidempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
)

// maxKey is the longest key stored as it is. Every database can index it.
const maxKey = 255

// id returns the values of the primary key's columns.
func (c Config) id(key string) ([]string, error) {
	if key == "" {
		return nil, driver.ErrEmptyKey
	}
	if !c.ProcessedEvents {
		return []string{stored(key)}, nil
	}
	group, rest, ok := strings.Cut(key, ":")
	if !ok || group == "" || rest == "" {
		return nil, fault.MarkPermanent(fmt.Errorf(
			"sqlidempotency: the key %q is not {group}:{rest}, which Config.ProcessedEvents needs; leave ProcessedEvents false for other keys",
			key))
	}
	return []string{stored(rest), stored(group)}, nil
}

// row returns the values of a new row: four texts, the primary key first.
func (c Config) row(r driver.Record) ([]string, error) {
	id, err := c.id(r.Key)
	if err != nil {
		return nil, err
	}
	if !c.ProcessedEvents {
		id = append(id, dialect(c.Dialect).info(r.Group))
	}
	return append(id, dialect(c.Dialect).info(r.EventType), dialect(c.Dialect).info(r.AggregateID)), nil
}

// args converts texts to a statement's arguments.
func args(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// stored returns the text to store for the key: itself, or its beginning and its hash if it is
// too long or not text for a database.
func stored(key string) string {
	const tail = 1 + 2*sha256.Size
	// A key that looks like the stored text of a longer key is hashed too; otherwise a crafted key
	// could collide with the longer one. That text has up to 3 bytes less than maxKey: see cut.
	short := len(key) <= maxKey && (len(key) < maxKey-3 || key[len(key)-tail] != '~')
	text := clean(key)
	if short && text == key {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return cut(text, maxKey-tail) + "~" + hex.EncodeToString(sum[:])
}

// info returns a text for an informational column. On MySQL such a column holds 255 characters,
// and longer text is truncated.
func (d dialect) info(s string) string {
	if d == mysql {
		return cut(clean(s), maxKey)
	}
	return clean(s)
}

// cut shortens valid UTF-8 to at most n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// clean removes bytes that PostgreSQL refuses in text: NUL and broken UTF-8. Such bytes in an
// informational column must not prevent an event from being handled.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}
