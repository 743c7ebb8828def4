package upstream

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBadControlInput(t *testing.T) {
	u := open(t, Config{})
	for _, c := range []struct {
		method, path, body string
		code               int
		says               string
	}{
		{"POST", "/_/faults", ``, 400, "one JSON object"},
		{"POST", "/_/faults", `[]`, 400, "one JSON object"},
		{"POST", "/_/faults", `{"kind":"delay"} {}`, 400, "more than one"},
		{"POST", "/_/faults", `{"kind":"status","code":500}`, 400, "code"},
		{"POST", "/_/faults", `{}`, 400, "truncated"},
		{"POST", "/_/faults", `{"kind":"earthquake"}`, 400, "earthquake"},
		{"POST", "/_/faults", `{"id":3,"kind":"truncated"}`, 400, "id"},
		{"POST", "/_/faults", `{"kind":"status"}`, 400, "400 to 599"},
		{"POST", "/_/faults", `{"kind":"status","status":302}`, 400, "400 to 599"},
		{"POST", "/_/faults", `{"kind":"status","status":600}`, 400, "400 to 599"},
		{"POST", "/_/faults", `{"kind":"drop","status":500}`, 400, "status"},
		{"POST", "/_/faults", `{"kind":"drop","rate":1.5}`, 400, "rate"},
		{"POST", "/_/faults", `{"kind":"drop","rate":-1}`, 400, "rate"},
		{"POST", "/_/faults", `{"kind":"drop","calls":-1}`, 400, "calls"},
		{"POST", "/_/faults", `{"kind":"delay"}`, 400, "delayMs"},
		{"POST", "/_/faults", `{"kind":"delay","delayMs":-1}`, 400, "delayMs"},
		{"POST", "/_/faults", `{"kind":"delay","delayMs":600001}`, 400, "600000"},
		{"POST", "/_/faults", `{"kind":"delay","jitterMs":600001}`, 400, "600000"},
		{"POST", "/_/faults", `{"kind":"drop","delayMs":1}`, 400, "delayMs"},
		{"POST", "/_/faults", `{"kind":"drop","artists":[` + strings.Repeat(`"1",`, Artists) + `"1"]}`, 400, "artists"},
		{"POST", "/_/faults", `{"kind":"` + strings.Repeat("x", maxControlBody) + `"}`, 413, "1048576"},
		{"POST", "/_/revise/0", ``, 404, "1 to 10000"},
		{"POST", "/_/revise/x", ``, 404, "1 to 10000"},
		{"GET", "/_/stats?last=yesterday", ``, 400, "last"},
		{"GET", "/_/stats?last=-5s", ``, 400, "last"},
		{"GET", "/_/log?last=0", ``, 400, "last"},
		{"GET", "/_/nothing", ``, 404, "/_/stats"},
		{"DELETE", "/_/stats", ``, 404, "GET /_/stats"},
		{"GET", "/_/", ``, 404, "/_/stats"},
	} {
		rec := do(t, u, c.method, c.path, c.body)
		var p struct {
			Type, Title, Detail string
			Status              int
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
			t.Errorf("%s %s %.60s: %v", c.method, c.path, c.body, err)
			continue
		}
		if rec.Code != c.code || p.Status != c.code || !strings.Contains(p.Detail, c.says) || p.Title == "" || !strings.HasPrefix(p.Type, "/problems/") ||
			rec.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s %.60s: %d %+v, want %d and %q", c.method, c.path, c.body, rec.Code, p, c.code, c.says)
		}
	}
	if st := u.Stats(0); st.Calls != 0 || len(u.rules.all()) != 0 {
		t.Errorf("bad input counted as %d calls and left the faults %+v", st.Calls, u.rules.all())
	}
}
