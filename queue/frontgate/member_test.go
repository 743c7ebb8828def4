package frontgate_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/millrace-go/millrace/queue/frontgate"
)

func by(member string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Member", member) }
}

// A position that a member took is nothing to another one, at the gate and behind it.
// A position that was taken without a sign-in is for all that have it.
func TestAPositionIsItsMembers(t *testing.T) {
	s := newSite(t, frontgate.HTTPConfig{Member: func(r *http.Request) string { return r.Header.Get("X-Member") }})
	activate(t, s.gate)
	ann := s.ask("POST", "/vwr/assign/show-1", "", by("ann")).body["requestId"].(string)
	all := s.ask("POST", "/vwr/assign/show-1", "").body["requestId"].(string)
	if _, err := s.gate.Advance(t.Context(), "show-1", 2); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	for _, c := range []struct {
		id, member string
		status     int
	}{{ann, "ann", 200}, {ann, "bob", 404}, {ann, "", 404}, {all, "", 200}, {all, "bob", 200}} {
		a := s.ask("GET", "/vwr/check/show-1/"+c.id, "", by(c.member))
		if a.Code != c.status {
			t.Errorf("%q checks: %d %s", c.member, a.Code, a.Body)
		}
		if a.Code == 200 {
			tokens[c.id] = a.body["token"].(string)
		}
	}
	for _, c := range []struct {
		id, member string
		position   int64
	}{{ann, "ann", 1}, {ann, "bob", 0}, {ann, "", 0}, {all, "", 2}, {all, "bob", 2}} {
		position, err := s.gate.Position(t.Context(), "show-1", tokens[c.id], c.member)
		if position != c.position || (err == nil) != (c.position > 0) || err != nil && !errors.Is(err, frontgate.ErrToken) {
			t.Errorf("the token, brought by %q, has position %d, %v; want %d", c.member, position, err, c.position)
		}
		want := map[bool]int{true: http.StatusOK, false: http.StatusFound}[c.position > 0]
		if a := s.ask("GET", "/events/show-1", "", by(c.member), header(tokens[c.id])); a.Code != want {
			t.Errorf("the page, for %q: %d, want %d", c.member, a.Code, want)
		}
		r, err := http.NewRequestWithContext(t.Context(), "POST", "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		by(c.member)(r)
		header(tokens[c.id])(r)
		if position, err := s.h.Position(r, "show-1"); position != c.position || err != nil {
			t.Errorf("the handlers say that %q has position %d, %v; want %d", c.member, position, err, c.position)
		}
		if position, err := s.h.NewPosition(r, "show-1"); (position > 0) != (c.position > 0) || err != nil {
			t.Errorf("%q is given a new position: %d, %v", c.member, position, err)
		}
	}
}
