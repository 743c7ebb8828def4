package chat

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ErrOrigin is returned for a socket that another site's page opens, and ErrUpgrade
// for a request that asks for none.
var (
	ErrOrigin  = errors.New("chat: the page is from another site")
	ErrUpgrade = errors.New("chat: not a WebSocket handshake")
)

func isHandshake(r *http.Request) bool {
	return r.Method == http.MethodGet && holds(r.Header, "Connection", "upgrade") && holds(r.Header, "Upgrade", "websocket") &&
		r.Header.Get("Sec-WebSocket-Key") != ""
}

func holds(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// fromHere reports whether the page is from this site, or from one of the others
// that may. Programs send no origin.
func fromHere(r *http.Request, others []string) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || slices.ContainsFunc(others, func(o string) bool { return strings.EqualFold(o, u.Host) })
}
