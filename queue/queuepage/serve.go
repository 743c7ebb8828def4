package queuepage

import (
	"net/http"
	"strconv"
	"strings"
)

// ServeHTTP answers GET and HEAD, at any path.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the waiting page is only read", http.StatusMethodNotAllowed)
		return
	}
	v := p.describe(h, r)
	h.Set("Cache-Control", p.cacheControl)
	h.Set("ETag", v.etag)
	if p.has(r.Header.Values("If-None-Match")) {
		h.Del("Content-Encoding")
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	v.write(w, r, http.StatusOK)
}

// serveInPlace answers a GET or a HEAD of another page: see Config.Event.
func (p *page) serveInPlace(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	v := p.describe(h, r)
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", p.retryAfter)
	v.write(w, r, http.StatusServiceUnavailable)
}

// describe sets the headers that do not depend on the status, and returns the
// encoding that the client takes.
func (p *page) describe(h http.Header, r *http.Request) variant {
	v := p.plain
	if takesGzip(r.Header.Values("Accept-Encoding")) {
		v = p.packed
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	return v
}

func (v variant) write(w http.ResponseWriter, r *http.Request, status int) {
	w.Header().Set("Content-Length", strconv.Itoa(len(v.body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(v.body) // the visitor may be gone
	}
}

// has says whether the client has the page already, in either encoding: its content
// is the same.
func (p *page) has(headers []string) bool {
	for _, header := range headers {
		for tag := range strings.SplitSeq(header, ",") {
			switch strings.TrimPrefix(strings.TrimSpace(tag), "W/") {
			case p.plain.etag, p.packed.etag, "*":
				return true
			}
		}
	}
	return false
}

// takesGzip reads Accept-Encoding: gzip unless it is refused by q=0.
func takesGzip(headers []string) bool {
	takes := false
	for _, header := range headers {
		for coding := range strings.SplitSeq(header, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			if name != "gzip" && name != "*" {
				continue
			}
			_, q, found := strings.Cut(strings.ReplaceAll(weight, " ", ""), "=")
			value, err := strconv.ParseFloat(q, 64)
			ok := !found || (err == nil && value > 0)
			if name == "gzip" {
				return ok
			}
			takes = ok
		}
	}
	return takes
}
