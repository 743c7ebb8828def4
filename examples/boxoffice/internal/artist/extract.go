package artist

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// maxName bounds an artist's name, in characters.
const maxName = 200

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
	s := newScan(r, limit)
	var kept, name bytes.Buffer
	fields := map[string][]byte{} // the values that are asked for by name
	kept.WriteByte('{')
	err := s.members('{', '}', func() error {
		if c, err := s.token(); err != nil || c != '"' {
			return errors.Join(err, errors.New("a member has no name"))
		}
		name.Reset()
		s.into(&name)
		err := s.text()
		s.stop()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		var key string
		if err := json.Unmarshal(name.Bytes(), &key); err != nil {
			return err
		}
		if key == "history" {
			return s.value(1)
		}
		if kept.Len() > 1 {
			kept.WriteByte(',')
		}
		kept.Write(name.Bytes())
		kept.WriteByte(':')
		from := kept.Len()
		s.into(&kept)
		err = s.value(1)
		s.stop()
		switch key {
		case "id", "name", "level", "updatedAt":
			fields[key] = bytes.Clone(kept.Bytes()[from:])
		}
		return err
	})
	if err == nil {
		err = s.rest()
	}
	if err != nil {
		return Document{}, fmt.Errorf("artist: the document of %s: %w", id, err)
	}
	kept.WriteByte('}')
	d, err := named(fields)
	if err != nil {
		return Document{}, fmt.Errorf("artist: the document of %s: %w", id, err)
	}
	if d.ID != id {
		return Document{}, fmt.Errorf("artist: the document of %s is about %q", id, clip(d.ID, 40))
	}
	c := canon{out: make([]byte, 0, kept.Len())}
	c.value(kept.Bytes(), 0)
	d.Content, d.Hash = c.out, hashOf(c.out)
	return d, nil
}

// named reads the members that are asked for by name.
func named(fields map[string][]byte) (d Document, err error) {
	var id, name, level, updated any
	for _, f := range []struct {
		name string
		into *any
	}{{"id", &id}, {"name", &name}, {"level", &level}, {"updatedAt", &updated}} {
		if raw, ok := fields[f.name]; ok {
			decode := json.NewDecoder(bytes.NewReader(raw))
			decode.UseNumber()
			if err := decode.Decode(f.into); err != nil {
				return Document{}, fmt.Errorf("%s: %w", f.name, err)
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

// clip bounds a text of an error.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
