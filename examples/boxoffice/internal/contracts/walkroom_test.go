package contracts_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// walkPages reads the site, and the files that a browser loads with it.
func walkPages(t *testing.T, w *walker) {
	home := w.read(t, "/", 200)
	for _, path := range []string{
		"/shows/show-1", "/queue/show-1", "/vwr/show-1", "/events/show-1", "/checkout/x", "/tickets", "/transfers", "/memberships", "/scan", "/artists", "/artists/42",
		"/login", "/ops", "/offline", "/posters/show-1", "/sw.js", "/manifest.webmanifest", "/healthz", "/readyz", "/metrics",
	} {
		w.read(t, path, 200)
	}
	for _, path := range []string{"/shows/show-9", "/events/show-9", "/queue", "/artists/a.b"} {
		w.read(t, path, 404)
	}
	w.read(t, "/queue?event=show-1", 302)
	w.read(t, "/artists?id=42", 303)
	w.read(t, "/artists?id=a.b", 400)
	w.read(t, "/events/%7Bx%7D", 400)
	for _, path := range []string{"/queue/show-1", "/vwr/show-1"} {
		tag := w.read(t, path, 200).header.Get("ETag")
		w.do(t, call{method: "GET", path: path, header: map[string]string{"If-None-Match": tag}, status: http.StatusNotModified})
	}
	// Every file that the first page names, and one of another version.
	_, rest, ok := strings.Cut(string(home.text), `/static/`)
	require.True(t, ok, "the first page names no file")
	hash, _, _ := strings.Cut(rest, "/")
	for _, file := range []string{"css/base.css", "js/app.js", "img/icon.svg", "font/fraunces.woff2"} {
		if !strings.Contains(string(home.text), file) {
			continue
		}
		w.read(t, "/static/"+hash+"/"+file, 200)
		w.read(t, "/static/0123456789ab/"+file, 307)
	}
	w.read(t, "/static/"+hash+"/nothing.css", 404)
}

// walkQueue lines up, waits, enters and leaves.
func walkQueue(t *testing.T, w *walker, admin string) {
	const show = "show-4"
	operate := func(method, what string, body any, status int, problem string) {
		t.Helper()
		w.do(t, call{method: method, path: "/api/queue/admin/" + what + "/" + show, token: admin, body: body, status: status, problem: problem})
	}
	ann, bob := w.fan(t, "queue-ann", show), w.fan(t, "queue-bob")
	operate("PUT", "threshold", map[string]int{"threshold": 1}, 200, "")
	place := func(f *fan, method, what string) (p struct{ Status, Ticket string }) {
		t.Helper()
		f.do(call{method: method, path: "/api/queue/" + what + "/" + show, status: 200, into: &p})
		return p
	}
	waiting := place(bob, "POST", "check")
	if waiting.Status != "queued" || waiting.Ticket == "" {
		t.Errorf("behind a full room: %+v", waiting)
	}
	bob.do(call{method: "POST", path: "/api/queue/heartbeat/" + show, header: map[string]string{"x-queue-ticket": waiting.Ticket}, status: 200})
	place(bob, "GET", "status")
	place(ann, "POST", "heartbeat")
	operate("POST", "pause", nil, 200, "")
	operate("POST", "resume", nil, 200, "")
	operate("GET", "status", nil, 200, "")
	operate("PUT", "shares", map[string]any{"shares": map[string]float64{"member": 0.4}}, 200, "")
	w.do(t, call{method: "PUT", path: "/api/queue/admin/shares/" + show, token: admin, body: `{"shares":{"member":-1}}`, status: 400, problem: "invalid-request", broken: true})
	operate("PUT", "shares", map[string]any{"shares": map[string]float64{}}, 200, "")
	operate("GET", "figures", nil, 200, "")
	operate("GET", "plot", nil, 200, "")
	w.do(t, call{method: "PUT", path: "/api/queue/admin/threshold/" + show, token: admin, body: `{"threshold":-1}`, status: 400, problem: "invalid-request", broken: true})
	ann.do(call{method: "POST", path: "/api/queue/done/" + show, status: 204})
	boxtest.WaitFor(t, "bob to be let in", func() bool { return t.Failed() || place(bob, "GET", "status").Status == "active" })
	bob.do(call{method: "POST", path: "/api/queue/leave/" + show, status: 204})
	if p := place(bob, "GET", "status"); p.Status != "none" {
		t.Errorf("after leaving: %+v", p)
	}
	operate("POST", "clear", nil, 200, "")
	operate("PUT", "threshold", map[string]int{"threshold": 1000}, 200, "")
}

// walkOpening sets an opening, waits until those who came before are drawn, and takes it back.
func walkOpening(t *testing.T, w *walker, admin string) {
	const show, draw = "show-2", "/api/queue/draw/show-2"
	open := func(body any, status int, problem string) {
		t.Helper()
		w.do(t, call{method: "PUT", path: "/api/queue/admin/opening/" + show, token: admin, body: body, status: status, problem: problem, broken: status == 400})
	}
	ann := w.fan(t, "opening-ann")
	receipt := call{method: "GET", path: "/api/queue/receipt/" + show, status: 404, problem: "no-draw"}
	ann.do(receipt)
	w.do(t, call{method: "GET", path: draw, status: 204})
	open(`{"opens":"soon"}`, 400, "invalid-request")
	open(map[string]any{"opens": time.Now().Add(12 * time.Second).UTC()}, 200, "")
	ann.do(call{method: "POST", path: "/api/queue/check/" + show, status: 200})
	w.do(t, call{method: "GET", path: draw + "/leaves", status: 404, problem: "no-draw"})
	receipt.status, receipt.problem = 200, ""
	ann.do(receipt)
	var published struct{ Seed string }
	waitFor(t, w, call{method: "GET", path: draw, status: 200, into: &published}, func() bool { return published.Seed != "" })
	leaves := w.do(t, call{method: "GET", path: draw + "/leaves", status: 200})
	w.do(t, call{method: "GET", path: draw + "/leaves", header: map[string]string{"If-None-Match": leaves.header.Get("ETag")}, status: 304})
	var place struct{ Status string }
	boxtest.WaitFor(t, "the room to open", func() bool {
		ann.do(call{method: "POST", path: "/api/queue/check/" + show, status: 200, into: &place})
		return t.Failed() || place.Status == "active"
	})
	w.do(t, call{method: "POST", path: "/api/queue/admin/clear/" + show, token: admin, status: 200})
	open(`{"opens":null}`, 200, "")
}

// walkGate passes the front gate, and arrives too late.
func walkGate(t *testing.T, w *walker, admin string) {
	const show = "show-3"
	operate := func(what string, body any, status int, problem string, broken bool) {
		t.Helper()
		w.do(t, call{method: "POST", path: "/api/admin/vwr/" + what + "/" + show, token: admin, body: body, status: status, problem: problem, broken: broken})
	}
	w.do(t, call{method: "GET", path: "/api/admin/vwr/status/" + show, token: admin, status: 200})
	w.do(t, call{method: "POST", path: "/vwr/assign/" + show, status: 409, problem: "gate-off"})
	operate("activate", nil, 200, "", false)
	var place struct{ RequestID string }
	w.do(t, call{method: "POST", path: "/vwr/assign/" + show, status: 200, into: &place})
	w.read(t, "/vwr/check/"+show+"/"+place.RequestID, 200)
	w.read(t, "/events/"+show, 302)
	fan := w.fan(t, "gate-fan")
	var sent struct {
		Gated      bool
		RedirectTo string
	}
	fan.do(call{method: "POST", path: "/api/queue/check/" + show, status: 200, into: &sent})
	if !sent.Gated || sent.RedirectTo != "/vwr/"+show {
		t.Errorf("before the gate: %+v", sent)
	}
	operate("advance", map[string]int{"by": 1}, 200, "", false)
	operate("advance", `{"by":-1}`, 400, "invalid-request", true)
	operate("advance", `{"to":1}`, 400, "invalid-request", true)
	var turn struct {
		Admitted bool
		Token    string
	}
	waitFor(t, w, call{method: "GET", path: "/vwr/check/" + show + "/" + place.RequestID, status: 200, into: &turn}, func() bool { return turn.Admitted })
	fan.do(call{method: "POST", path: "/api/queue/check/" + show, header: map[string]string{"x-vwr-token": turn.Token}, status: 200})
	w.do(t, call{method: "GET", path: "/vwr/check/" + show + "/nothing", status: 404, problem: "request-not-found"})
	operate("deactivate", nil, 200, "", false)
}
