package queuehttp

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// escaped makes a part of a cookie's name of any text: bytes that a name cannot
// hold, and the percent sign, become %XX.
func escaped(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return !nameByte(byte(r)) || r > 0x7f }) {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; nameByte(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0
}

// cookieName is the cookie's name for an event. With HostPrefix a request over
// https has the prefixed one or none.
func (h *Handlers) cookieName(r *http.Request, prefix, event string) string {
	name := prefix + escaped(event)
	if h.cfg.HostPrefix && h.cfg.Secure(r) {
		name = "__Host-" + name
	}
	return name
}

func (h *Handlers) setCookie(w http.ResponseWriter, r *http.Request, prefix, event, value string, lasts time.Duration) {
	if h.cfg.NoCookies {
		return
	}
	age := max(1, int(lasts/time.Second))
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: h.cookieName(r, prefix, event), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: h.cfg.Secure(r), SameSite: http.SameSiteStrictMode,
	})
}

// carried is the value of a request's header or else of its cookie. A header in the
// request has precedence, even when it is empty.
func (h *Handlers) carried(r *http.Request, header, prefix, event string) string {
	if values := r.Header.Values(header); len(values) > 0 {
		return values[0]
	}
	return h.cookie(r, prefix, event)
}

func (h *Handlers) cookie(r *http.Request, prefix, event string) string {
	if len(r.Header["Cookie"]) == 0 {
		return ""
	}
	for _, c := range r.CookiesNamed(h.cookieName(r, prefix, event)) {
		return c.Value
	}
	return ""
}
