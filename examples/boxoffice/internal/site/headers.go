package site

import (
	"net/http"
	"strings"
)

// contentSecurityPolicy lets a page run and load only files that this site serves,
// and lets scripts build elements only node by node: the sinks that parse text as
// markup are closed by Trusted Types. The one permitted policy names the service
// worker's address.
var contentSecurityPolicy = strings.Join([]string{
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"font-src 'self'",
	"img-src 'self'",
	"connect-src 'self'",
	"manifest-src 'self'",
	"worker-src 'self'",
	"base-uri 'none'",
	"form-action 'self'",
	"frame-ancestors 'none'",
	"require-trusted-types-for 'script'",
	"trusted-types boxoffice-worker",
}, "; ")

// secure sets the headers of every answer of the site, also of errors.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", permissions("()"))
		next.ServeHTTP(w, r)
	})
}

// permissions is the policy of a page; camera lists the origins that may use the
// camera.
func permissions(camera string) string {
	return "camera=" + camera + ", geolocation=(), microphone=(), payment=(), usb=()"
}
