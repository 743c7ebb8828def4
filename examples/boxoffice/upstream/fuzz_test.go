package upstream

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fault is within its bounds or is refused, and a refused one changes nothing.
func FuzzFault(f *testing.F) {
	for _, s := range []string{`{"kind":"status","status":500}`, `{"kind":"delay","delayMs":-1}`, `{"kind":"malformed","calls":1}{}`, `{"kind":"none"}`, `{"rate":1e400}`, `[`, ``} {
		f.Add(s)
	}
	u, err := New(Config{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body string) {
		u.rules.clear()
		w := httptest.NewRecorder()
		u.postFault(w, httptest.NewRequest("POST", "/_/faults", strings.NewReader(body)))
		all := u.rules.all()
		if w.Code != 201 {
			if w.Code < 400 || w.Code > 499 || len(all) != 0 || !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%q: %d %s, in force %+v", body, w.Code, w.Body, all)
			}
			return
		}
		require.Lenf(t, all, 1, "%q: in force %+v", body, all)
		f := all[0]
		f.ID = 0 // which only the upstream gives
		if p := f.validate(); p != nil {
			t.Fatalf("%q is in force: %+v", body, p)
		}
	})
}

// An artist's id is a number in one spelling.
func FuzzArtist(f *testing.F) {
	for _, s := range []string{"1", "10000", "10001", "01", "+1", "-1", "1e3", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if n, ok := artistNumber(id); ok && (n < 1 || n > Artists || strings.TrimLeft(id, "123456789") == id) {
			t.Fatalf("%q is the artist %d", id, n)
		}
	})
}
