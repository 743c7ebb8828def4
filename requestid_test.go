package millrace_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/event"
)

func TestWrapKeepsIDs(t *testing.T) {
	const traced = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, c := range map[string]struct {
		id, traceparent string
		want            string // "" if Wrap is to make one
	}{
		"brought":            {"order-7_a.b:c/d+e=@f", "", "order-7_a.b:c/d+e=@f"},
		"brought, and trace": {"r-1", traced, "r-1"},
		"the longest":        {strings.Repeat("x", 128), "", strings.Repeat("x", 128)},
		"of the trace":       {"", traced, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"nothing":            {"", "", ""},
		"too long":           {strings.Repeat("x", 129), "", ""},
		"too long, traced":   {strings.Repeat("x", 129), traced, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"a space":            {"a b", "", ""},
		"a line break":       {"a\r\nSet-Cookie: x=y", "", ""},
		"a NUL":              {"a\x00", "", ""},
		"markup":             {"<script>", "", ""},
		"no ASCII":           {"é", "", ""},
		"no trace":           {"", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		"nonsense":           {"", "nonsense", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if c.id != "" {
				r.Header["X-Request-Id"] = []string{c.id}
			}
			if c.traceparent != "" {
				r.Header.Set("traceparent", c.traceparent)
			}
			var inside string
			w := httptest.NewRecorder()
			millrace.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { inside = event.Correlation(r.Context()) })).ServeHTTP(w, r)
			answered := w.Header().Get("X-Request-Id")
			assert.Equalf(t, inside, answered, "answered %q, and events have %q", answered, inside)
			if _, err := uuid.Parse(answered); c.want == "" && err != nil || c.want != "" && answered != c.want {
				t.Errorf("%q, want %q", answered, c.want)
			}
		})
	}
}
