package contracts_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a request of an operation that the file allows, by its examples.
func (f *routeFile) sample(o operation, show string) call {
	c := call{method: o.method, path: o.path, header: map[string]string{}}
	for _, p := range o.op.Parameters {
		value := fmt.Sprint(p.Value.Example)
		if p.Value.Example == nil {
			value = "x"
		}
		switch {
		case p.Value.In == "path" && value == "show-1":
			value = show
			fallthrough
		case p.Value.In == "path":
			c.path = strings.Replace(c.path, "{"+p.Value.Name+"}", url.PathEscape(value), 1)
		case p.Value.In == "header" && p.Value.Required:
			c.header[p.Value.Name] = value
		}
	}
	if o.op.RequestBody != nil {
		c.body = o.op.RequestBody.Value.Content["application/json"].Schema.Value.Examples[0]
	}
	return c
}

// who reports whether an operation asks for a token of the scheme.
func (o operation) who(scheme string) bool {
	for _, one := range *o.op.Security {
		if _, ok := one[scheme]; ok {
			return true
		}
	}
	return false
}

// walkLogin signs in with malformed member ids.
func walkLogin(t *testing.T, w *walker) {
	for _, bad := range []string{`{}`, `{"memberId":"a b"}`, `{"memberId":7}`, `{"memberId":"a","admin":true}`, `[]`, `{`, ``} {
		w.do(t, call{method: "POST", path: "/api/login", body: bad, status: 400, problem: "invalid-request", broken: true})
	}
}

// walkWhoMay makes all requests without a token, and with an invalid one.
func walkWhoMay(t *testing.T, w *walker) {
	for _, o := range w.file.operations {
		c := w.file.sample(o, "show-1")
		bad := c
		bad.token = "x"
		switch {
		case o.op.OperationID == "openRoom": // whether it is a WebSocket comes first
			continue
		case o.who("admin"):
			c.status, c.problem, c.broken = 401, "admin-token-required", true
			bad.status, bad.problem = 403, "admin-token-wrong"
		case len((*o.op.Security)) > 0 && len((*o.op.Security)[0]) == 0: // a sign-in is welcome
			c.status = 0
			bad.status, bad.problem = 401, "sign-in-required"
		case o.who("member"):
			if o.who("entryHeader") {
				c.header["x-queue-entry-token"] = "x"
			}
			c.status, c.problem, c.broken = 401, "sign-in-required", true
			bad.status, bad.problem = 401, "sign-in-required"
		default:
			continue
		}
		w.do(t, c)
		w.do(t, bad)
	}
}

// walkLarge sends bodies that exceed every limit.
func walkLarge(t *testing.T, w *walker, admin string) {
	large := strings.Repeat(" ", 1<<20+1)
	for _, o := range w.file.operations {
		if o.op.Responses.Status(http.StatusRequestEntityTooLarge) == nil {
			continue
		}
		c := w.file.sample(o, "show-1")
		c.token, c.body, c.status, c.problem, c.unjudged = admin, large, 413, "too-large", true
		c.header["Expect"] = "100-continue" // it is answered before it is sent
		w.do(t, c)
	}
}

// walkUnknownShows asks for an unknown show, in every operation with a show.
func walkUnknownShows(t *testing.T, w *walker, admin string) {
	ann := w.fan(t, "lost-ann", "show-1")
	for _, o := range w.file.operations {
		missing := o.op.Responses.Status(http.StatusNotFound)
		if missing == nil || !slices.Contains(problemTypes(missing.Value), "show-not-found") {
			continue
		}
		c := w.file.sample(o, "show-9")
		c.status, c.problem = 404, "show-not-found"
		if o.op.OperationID == "reserveSeats" {
			c.body = map[string]any{"eventId": "show-9", "seatIds": []string{"A-1"}}
		}
		if o.op.OperationID == "scanTicket" {
			c.body = map[string]any{"eventId": "show-9", "code": "x"}
		}
		if c.token = ann.token; o.who("admin") {
			c.token = admin
		}
		ann.in("show-1", c)
	}
}

// walkUnknownRoutes requests routes that are not in the file, and sends broken
// requests that the ingress limits answer.
func walkUnknownRoutes(t *testing.T, w *walker) {
	for _, c := range []struct {
		method, path, origin, response string
		status                         int
	}{
		{"GET", "/api/nothing", "", "NoSuchRoute", 404}, {"GET", "/vwr/check/x", "", "NoSuchRoute", 404},
		{"PUT", "/api/payments", "", "WrongMethod", 405}, {"GET", "/api/login", "", "WrongMethod", 405},
		{"GET", "/nothing", "", "", 404}, {"HEAD", "/api/shows", "", "", 200}, {"HEAD", streamPath, "", "", 405},
		{"GET", "/api/shows?x=" + strings.Repeat("x", 8192), "", "UriTooLong", 414}, {"GET", "/api/shows/%FF", "", "InvalidUri", 400},
		{"POST", "/api/login", "https://evil.test", "OriginRefused", 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, w.base+c.path, nil)
		require.NoError(t, err)
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		res, err := w.http.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != c.status {
			t.Errorf("%s %.60s: %d %s, %v", c.method, c.path, res.StatusCode, text, err)
		}
		if c.response == "" {
			continue
		}
		documented := w.file.doc.Components.Responses[c.response].Value
		assert.NoErrorf(t, judgeJSON(documented.Content["application/problem+json"].Schema, text), "%s %.60s: %s", c.method, c.path, text)
		for name := range documented.Headers {
			if res.Header.Get(name) == "" {
				t.Errorf("%s %.60s: no header %s", c.method, c.path, name)
			}
		}
	}
}
