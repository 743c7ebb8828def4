package queuehttp

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// The body that sets a threshold is one object of one whole number within its
// bounds; any other is a problem that quotes little of it.
func FuzzThreshold(f *testing.F) {
	for _, s := range []string{`{"threshold":1000}`, `{"threshold":1e3}`, `{"threshold":-1}`, `{"threshold":null}`, `{"threshold":1}{}`, `{"Threshold":1}`, `[]`, ``, `{"threshold":1,"` + strings.Repeat("x", 200) + `":1}`, `{"threshold":1,"threshold":2}`} {
		f.Add(s)
	}
	h := &Handlers{cfg: Config{}.withDefaults()}
	f.Fuzz(func(t *testing.T, body string) {
		n, err := h.threshold(httptest.NewRecorder(), httptest.NewRequest("PUT", "/", strings.NewReader(body)))
		if err != nil {
			if p := h.problemOf(err); n != 0 || p.Status < 400 || p.Status > 499 || len(p.Detail) > 400 {
				t.Fatalf("%q: %d, %+v", body, n, p)
			}
			return
		}
		var fields map[string]int64
		if err := json.Unmarshal([]byte(body), &fields); err != nil || len(fields) != 1 || fields["threshold"] != int64(n) || n < 0 || n > maxThreshold {
			t.Fatalf("%q is the threshold %d (%v)", body, n, err)
		}
	})
}
