package artist

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

const (
	// maxName bounds an artist's name, in characters.
	maxName = 200
	// maxDepth bounds how many arrays and objects of the history are in each other.
	maxDepth = 1000
)

// errLarge is returned for a document that exceeds its bound.
var errLarge = errors.New("the document is too large")

// Document is the stored part of an artist.
type Document struct {
	ID        string
	Name      string
	Level     int64
	UpdatedAt time.Time // by the upstream; zero when it does not say
	// Content is the upstream's document without its history, as canonical
	// JSON: members sorted, no spaces, numbers as they were written.
	Content []byte
	// Hash of Content.
	Hash string
}

// Extract reads an upstream's document, which must be the artist's with this id,
// and keeps all but its history. It checks the whole document, of at most limit
// bytes, and holds no more of it than it keeps.
func Extract(r io.Reader, limit int64, id string) (Document, error) {
	kept, err := keep(&bounded{r, limit})
	var d Document
	if err == nil {
		d, err = named(kept)
	}
	if err != nil {
		return Document{}, fmt.Errorf("artist: the document of %s: %w", id, err)
	}
	if d.ID != id {
		return Document{}, fmt.Errorf("artist: the document of %s is about %q", id, store.Clip(d.ID, 40))
	}
	if d.Content, err = canonical(kept); err != nil {
		return Document{}, fmt.Errorf("artist: the document of %s: %w", id, err)
	}
	d.Hash = hashOf(d.Content)
	return d, nil
}

// lenient has the options that accept all that encoding/json accepts, and more.
func lenient(more ...jsontext.Options) []jsontext.Options {
	return append(more, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// canonical writes an object with its members and those of inner objects in the order of
// their names, no spaces, and numbers as they were written.
func canonical(kept map[string]jsontext.Value) ([]byte, error) {
	var content bytes.Buffer
	out := jsontext.NewEncoder(&content, lenient(jsontext.ReorderRawObjects(true))...)
	errs := []error{out.WriteToken(jsontext.BeginObject)}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		errs = append(errs, out.WriteToken(jsontext.String(name)), out.WriteValue(kept[name]))
	}
	errs = append(errs, out.WriteToken(jsontext.EndObject))
	return bytes.TrimSuffix(content.Bytes(), []byte("\n")), errors.Join(errs...)
}

// keep reads an object without its history. Of several members with one name the last
// counts, as encoding/json has it.
func keep(r io.Reader) (map[string]jsontext.Value, error) {
	doc := jsontext.NewDecoder(r, lenient()...)
	if doc.PeekKind() != '{' {
		return nil, errors.Join(errors.New("it is no object"), skip(doc))
	}
	if _, err := doc.ReadToken(); err != nil {
		return nil, err
	}
	kept := map[string]jsontext.Value{}
	for doc.PeekKind() == '"' {
		name, err := doc.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if key == "history" {
			if err := skip(doc); err != nil {
				return nil, err
			}
			continue
		}
		value, err := doc.ReadValue()
		if err != nil {
			return nil, err
		}
		kept[key] = value.Clone()
	}
	if _, err := doc.ReadToken(); err != nil { // the object's end, or why there is none
		return nil, err
	}
	if _, err := doc.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("more follows the document"), err)
	}
	return kept, nil
}

// skip checks a value, and holds a token of it at a time.
func skip(doc *jsontext.Decoder) error {
	for outside := doc.StackDepth(); ; {
		if _, err := doc.ReadToken(); err != nil {
			return err
		}
		switch depth := doc.StackDepth() - outside; {
		case depth == 0:
			return nil
		case depth > maxDepth:
			return errors.New("the document is nested too deeply")
		}
	}
}

// bounded fails beyond its bytes.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLarge
	}
	return n, err
}

// named reads the members that are asked for by name.
func named(kept map[string]jsontext.Value) (d Document, err error) {
	var id, name, level, updated any
	for key, into := range map[string]*any{"id": &id, "name": &name, "level": &level, "updatedAt": &updated} {
		if raw, ok := kept[key]; ok {
			decode := json.NewDecoder(bytes.NewReader(raw))
			decode.UseNumber()
			if err := decode.Decode(into); err != nil {
				return Document{}, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	switch id := id.(type) {
	case string:
		d.ID = id
	case json.Number:
		d.ID = id.String()
	}
	var ok bool
	if d.Name, ok = name.(string); !ok || strings.ContainsRune(d.Name, 0) || utf8.RuneCountInString(d.Name) > maxName {
		return Document{}, fmt.Errorf("name is missing, or no text of at most %d characters", maxName)
	}
	number, ok := level.(json.Number)
	if !ok {
		return Document{}, errors.New("level is missing, or no number")
	}
	if d.Level, err = number.Int64(); err != nil {
		return Document{}, fmt.Errorf("level: %w", err)
	}
	if at, ok := updated.(string); ok {
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return Document{}, fmt.Errorf("updatedAt: %w", err)
		}
		d.UpdatedAt = t.UTC()
	}
	return d, nil
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
