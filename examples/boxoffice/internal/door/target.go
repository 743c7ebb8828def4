package door

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxTarget is the longest path and query, in bytes.
const maxTarget = 8 << 10

// problem is an answer by the door itself.
type problem struct {
	status              int
	name, title, detail string
	after               time.Duration // for Retry-After
}

var (
	tooLong   = problem{status: http.StatusRequestURITooLong, name: "uri-too-long", title: "The address is too long", detail: "path and query may have 8192 bytes at most"}
	noText    = problem{status: http.StatusBadRequest, name: "invalid-uri", title: "The address is no text", detail: "path and query must be percent-encoded UTF-8 without control characters, and no part of the path ends with a space"}
	otherSite = problem{status: http.StatusForbidden, name: "origin-refused", title: "The page is from another site", detail: "pages of other sites cannot change anything here"}
)

func tooMany(wait time.Duration) problem {
	return problem{
		status: http.StatusTooManyRequests, name: "too-many-requests", title: "Too many requests",
		detail: "there were too many requests from this address; repeat it after the time that Retry-After says", after: wait,
	}
}

func (p problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.after.Seconds()))))
	}
	w.WriteHeader(p.status)
	// Texts and a number always marshal, and the client may be gone.
	body, _ := json.Marshal(map[string]any{"type": "/problems/" + p.name, "title": p.title, "status": p.status, "detail": p.detail})
	_, _ = w.Write(body)
}

// checkTarget checks the request target. Databases refuse bytes that are no text, logs are
// read on terminals, and to MySQL "ann " is the member "ann".
func checkTarget(r *http.Request) *problem {
	if len(r.URL.Path)+len(r.URL.RawQuery) > maxTarget || len(r.RequestURI) > maxTarget {
		return &tooLong
	}
	if !isText(r.URL.Path) || strings.Contains(r.URL.Path+"/", " /") {
		return &noText
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if text, err := url.QueryUnescape(pair); err != nil || !isText(text) {
			return &noText
		}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

// costly reports whether a request is one of the costs.
func costly(r *http.Request) bool {
	for _, c := range costs() {
		if (c.method == "" || c.method == r.Method) && strings.HasPrefix(r.URL.Path, c.prefix) && strings.HasSuffix(r.URL.Path, c.suffix) {
			return true
		}
	}
	return false
}
