package upstream

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// statusBanned is the status of all calls during a ban.
const statusBanned = http.StatusTooManyRequests

// problem is an error answer.
type problem struct {
	status     int
	name       string // below /problems/
	title      string
	detail     string
	field      string
	retryAfter time.Duration
}

func (p *problem) Error() string { return p.name + ": " + p.detail }

// invalid is a control request that its route does not accept.
func invalid(field, format string, args ...any) *problem {
	return &problem{
		status: http.StatusBadRequest, name: "invalid-request", title: "The request is not what this route takes",
		detail: fmt.Sprintf(format, args...), field: field,
	}
}

func (p *problem) write(w http.ResponseWriter) {
	body := map[string]any{"type": "/problems/" + p.name, "title": p.title, "status": p.status, "detail": p.detail}
	if p.field != "" {
		body["field"] = p.field
	}
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	writeJSON(w, p.status, "application/problem+json", body)
}

func answer(w http.ResponseWriter, status int, v any) { writeJSON(w, status, "application/json", v) }

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only values of this package are marshaled
		panic(fmt.Sprintf("upstream: marshal an answer: %v", err))
	}
	body = append(body, '\n')
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}
