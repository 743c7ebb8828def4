package frontgate

import (
	"net/http"
	"regexp"
	"strings"
)

// browserCookie names a browser by a random id. The waiting page of package queuepage
// sets it, because a page that caches may keep has no cookies of its own.
const browserCookie = "urr-vwr-browser"

var browserID = regexp.MustCompile(`^[A-Za-z0-9_-]{22,64}$`) // 128 bits or more in base64url

// browserMember begins the name of a browser among members.
const browserMember = "browser:"

// members returns the identities of a visitor, at least one: the signed-in member
// before the browser. A new position is for the first; it is "" when the visitor has
// neither. Tokens show a hash of the browser's id, so that a copied token does not bring
// the id with it.
func (h *Handlers) members(r *http.Request) []string {
	var of []string
	// A browser's name is not taken from a sign-in.
	if member := h.cfg.Member(r); member != "" && !strings.HasPrefix(member, browserMember) {
		of = append(of, member)
	}
	if c, err := r.Cookie(browserCookie); err == nil && browserID.MatchString(c.Value) {
		of = append(of, browserMember+hash(c.Value))
	}
	if len(of) == 0 {
		return []string{""}
	}
	return of
}
