package contracts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// mangled is how many requests TestMangled makes of each operation.
const mangled = 12

// TestMangled makes valid and invalid requests by the schemas, the same on every run,
// and wants answers that the file has and no 5xx.
func TestMangled(t *testing.T) {
	f := readOpenAPI(t)
	o := theOffice(t)
	w := newWalker(f, o)
	ann := w.fan(t, "mangled-ann", "show-1")
	seed := uint64(1)
	var patterns []string
	for pattern := range f.operations {
		patterns = append(patterns, pattern)
	}
	slices.Sort(patterns)
	asked := 0
	for _, pattern := range patterns {
		op := f.operations[pattern]
		if op.path == streamPath { // it has no end
			continue
		}
		for range mangled {
			seed++
			m := mangler{rand.New(rand.NewPCG(seed, 7))} //nolint:gosec // the same on every run
			c := m.call(f, op)
			if c.token = ann.token; op.who("admin") {
				c.token = o.app.AdminToken()
			}
			c.header = with(c.header, "x-queue-entry-token", ann.entry["show-1"])
			r, err := w.try(t.Context(), c)
			asked++
			if r.status >= http.StatusInternalServerError || err != nil && !atTheDoor(f, r) {
				t.Errorf("seed %d: %s %s %.300s: %d %.300s, %v", seed, c.method, c.path, c.body, r.status, r.text, err)
			}
		}
	}
	t.Logf("%d requests of %d operations", asked, len(patterns)-1)
	w.read(t, "/readyz", 200)
}

// atTheDoor reports whether an answer is one that every operation may have, or the
// answer for addresses without an operation.
func atTheDoor(f *routeFile, r reply) bool {
	for _, name := range []string{"UriTooLong", "InvalidUri", "OriginRefused", "NoSuchRoute"} {
		schema := f.doc.Components.Responses[name].Value.Content["application/problem+json"].Schema
		if r.status != 0 && judgeJSON(schema, r.text) == nil {
			return true
		}
	}
	return false
}

// mangler makes values up.
type mangler struct{ *rand.Rand }

func (m mangler) call(f *routeFile, o operation) call {
	c := f.sample(o, "show-1")
	c.unjudged = true
	c.path = o.path
	query := url.Values{}
	for _, p := range o.op.Parameters {
		value := m.text(fmt.Sprint(p.Value.Example))
		switch p.Value.In {
		case "path":
			c.path = strings.Replace(c.path, "{"+p.Value.Name+"}", url.PathEscape(value), 1)
		case "query":
			if m.IntN(2) == 0 {
				query.Set(p.Value.Name, value)
			}
		case "header":
			c.header[p.Value.Name] = strings.Map(printable, value)
		}
	}
	if len(query) > 0 {
		c.path += "?" + query.Encode()
	}
	if o.op.RequestBody == nil {
		return c
	}
	schema := o.op.RequestBody.Value.Content["application/json"].Schema.Value
	text, err := json.Marshal(m.value(schema))
	if err != nil {
		text = []byte("{}")
	}
	if m.IntN(4) == 0 && len(text) > 0 { // cut, or with a byte that is another
		at := m.IntN(len(text))
		if m.IntN(2) == 0 {
			text = text[:at]
		} else {
			text[at] = byte(m.IntN(256))
		}
	}
	c.body = string(text)
	return c
}

func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return -1
	}
	return r
}

// text is the usual one half of the time, never empty, since an address with an empty
// segment is another one.
func (m mangler) text(usual string) string {
	odd := []string{
		"x", "0", "-1", "99999999999999999999", "1.5", "null", "true", "show-9", "a b", "%", "'; DROP TABLE shows; --", "../..", "{}", "쇼",
		strings.Repeat("x", 300), "\u202e", "a/b", "a\x00b",
	}
	if m.IntN(2) == 0 && usual != "<nil>" {
		return usual
	}
	return odd[m.IntN(len(odd))]
}

// value is a valid value of a schema most of the time, and otherwise any value.
func (m mangler) value(s *openapi3.Schema) any {
	if m.IntN(6) == 0 {
		return []any{nil, true, -1, 1e30, "", m.text("x"), []any{}, map[string]any{"more": 1}}[m.IntN(8)]
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[m.IntN(len(s.Enum))]
	case s.Type.Is("object"):
		all := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if m.IntN(8) > 0 {
				all[name] = m.value(s.Properties[name].Value)
			}
		}
		if m.IntN(8) == 0 {
			all["more"] = m.text("x")
		}
		return all
	case s.Type.Is("array"):
		all := make([]any, m.IntN(12))
		for i := range all {
			all[i] = m.value(s.Items.Value)
		}
		return all
	case s.Type.Is("integer"), s.Type.Is("number"):
		return []any{0, 1, 30000, 150000, -1, 1 << 40, 0.5}[m.IntN(7)]
	case s.Type.Is("boolean"):
		return m.IntN(2) == 0
	}
	return m.text([]string{"show-1", "A-1", "mangled-bob", "4242424242424242", "First Light"}[m.IntN(5)])
}
