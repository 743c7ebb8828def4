package gate

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Kind of a proxy that asks the gate about each request.
type Kind uint8

const (
	// Forward is for proxies that send the judge's answer to the visitor unless it is
	// 200: Caddy and Traefik (forward_auth), HAProxy with our Lua file.
	Forward Kind = iota
	// Nginx is for auth_request, which turns any answer but 200, 401 and 403 into 500
	// and keeps none of its content: the judge says 200 or 401, and for 401 nginx asks
	// for the answer at /answer.
	Nginx
	// Envoy is for ext_authz by HTTP, with the path prefix /judge: Envoy asks for the
	// visitor's own request below it. It takes an answer of 500 and above for a judge that
	// does not work, so the waiting page comes with 429.
	Envoy
)

// Judge is the gate beside a proxy of yours, which asks it about each request and
// has the connection to the origin itself. It serves
//
//	/judge     200 with the signed headers for the origin, or another answer
//	/answer    for nginx: what to answer a request that was judged 401
//	/judge/…   for Envoy: the request that is judged, with its method and host
//
// and the gate's own routes below Config.Below, which the proxy has to hand on. For the
// others the request that is judged comes in X-Forwarded-Method, -Host, -Proto and -Uri,
// which only the proxy may set: let only the proxy reach the judge. A request with an Upgrade to
// HTTP/2 or TLS is answered with 400: within it a visitor reaches all pages. A proxy that does
// not show the judge this header, as nginx, may hand on upgrades to websocket alone.
func (g *Gate) Judge(kind Kind) (http.Handler, error) {
	if kind > Envoy {
		return nil, errors.New("gate: the kind of the judge is not known; use gate.Forward, gate.Nginx or gate.Envoy")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case kind == Envoy && strings.HasPrefix(r.RequestURI, "/judge/"):
			g.judge(below500{w}, r, kind)
		case kind != Envoy && r.URL.Path == "/judge":
			g.judge(w, r, kind)
		case r.URL.Path == "/answer" && kind == Nginx:
			g.answerRefused(w, r)
		case g.serveOwn(w, r):
		default:
			g.problem(w, http.StatusNotFound, "no-route", "The judge has no such route", "ask /judge, and hand on the routes below "+g.cfg.Below, 0)
		}
	}), nil
}

func (g *Gate) judge(w http.ResponseWriter, r *http.Request, kind Kind) {
	q, ok := g.judged(r, kind)
	d := decision{verdict: refused}
	if ok {
		d = g.decide(q)
	}
	switch {
	case d.verdict == goesOn:
		if d.user == "" {
			g.counts.passed.Add(1)
		} else {
			g.counts.inside.Add(1)
		}
		g.signHeaders(w.Header(), q.Method, q.Host, q.target, d.user)
		w.Header().Set(userHeader, d.user) // also an empty one: Caddy would keep the visitor's own, or a placeholder
		w.WriteHeader(http.StatusOK)
	case kind == Nginx:
		w.WriteHeader(http.StatusUnauthorized)
	case !ok:
		g.misused(w)
	default:
		g.answer(w, q, d)
	}
}

// answerRefused answers a request that was judged 401 a moment ago. If it would
// pass by now, a navigation is made again, and another request may be.
func (g *Gate) answerRefused(w http.ResponseWriter, r *http.Request) {
	q, ok := g.judged(r, Nginx)
	if !ok {
		g.misused(w)
		return
	}
	d := g.decide(q)
	if d.verdict == goesOn {
		if d.verdict = refused; navigates(q.Request) {
			d.verdict = enters
		}
	}
	g.answer(w, q, d)
}

func (g *Gate) misused(w http.ResponseWriter) {
	g.problem(w, http.StatusInternalServerError, "judge-misused", "The proxy does not say which request is judged", "it was written to the log", 0)
}

// judged is the request that a proxy asks about; false if the proxy does not say which.
func (g *Gate) judged(r *http.Request, kind Kind) (question, bool) {
	of := func(name string) string { return r.Header.Get("X-Forwarded-" + name) }
	method, host, target := of("Method"), of("Host"), of("Uri")
	if kind == Envoy {
		method, host, target = r.Method, r.Host, strings.TrimPrefix(r.RequestURI, "/judge")
	}
	if method == "" || host == "" || !strings.HasPrefix(target, "/") {
		g.complain("gate: the proxy does not say which request is judged", errors.New("X-Forwarded-Method, -Host or -Uri is missing, or -Uri does not begin with a slash; set them in the proxy as the files in deploy/gate do"))
		return question{}, false
	}
	// A request that net/url cannot read is judged by its text: it is odd.
	as := new(http.Request)
	*as = *r
	as.Method, as.Host, as.RequestURI = method, host, target
	if u, err := url.ParseRequestURI(target); err == nil {
		as.URL = u
	}
	return question{Request: as, target: target, secure: of("Proto") == "https", by: r.Method, tunnel: againHTTP.MatchString(strings.Join(r.Header.Values("Upgrade"), ","))}, true
}

// below500 answers 429 in place of 503.
type below500 struct{ http.ResponseWriter }

func (w below500) WriteHeader(status int) {
	if status == http.StatusServiceUnavailable {
		status = http.StatusTooManyRequests
	}
	w.ResponseWriter.WriteHeader(status)
}
