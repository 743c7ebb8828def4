package api_test

import (
	"fmt"
	"testing"
)

// The answer names the limit of the show that was reached and the member's remainder,
// and nothing is held.
func TestSeatLimit(t *testing.T) {
	o := newOffice(t, nil)
	token, entry := o.member("ann", "show-1")
	for i := range 4 {
		o.hold(token, entry, fmt.Sprintf("A-%d", i+1))
	}
	r := o.do(call{method: "POST", path: "/api/seats/reserve", token: token, entry: entry,
		body: map[string]any{"eventId": "show-1", "seatIds": []string{"B-1", "B-2", "B-3"}}})
	want := map[string]any{
		"type": "/problems/seat-limit", "title": "More seats than a member may have", "status": 409.0,
		"detail": "you hold 4 seats of this show and bought 0; a member holds at most 6 at once; you asked for 3 and may hold 2 more; nothing was held",
		"limit":  "held", "max": 6.0, "held": 4.0, "bought": 0.0, "remaining": 2.0,
	}
	if r.status != 409 || fmt.Sprint(r.body) != fmt.Sprint(want) {
		t.Errorf("%d %s", r.status, r.text)
	}
	r = o.do(call{method: "GET", path: "/api/shows/show-1/allowance", token: token})
	want = map[string]any{
		"eventId": "show-1", "limits": map[string]any{"held": 6.0, "bought": 6.0}, "held": 4.0, "bought": 0.0, "remaining": 2.0,
	}
	if r.status != 200 || fmt.Sprint(r.body) != fmt.Sprint(want) {
		t.Errorf("allowance: %d %s", r.status, r.text)
	}
	if r := o.do(call{method: "GET", path: "/api/shows/show-1/allowance"}); r.status != 401 {
		t.Errorf("the allowance of nobody: %d %s", r.status, r.text)
	}
	if r := o.do(call{method: "GET", path: "/api/shows/show-9/allowance", token: token}); r.status != 404 {
		t.Errorf("the allowance of no show: %d %s", r.status, r.text)
	}
}
