package idempotency

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// problem is a refusal by the middleware, in the form of RFC 9457.
type problem struct {
	status     int
	name       string // after HTTPConfig.Problems
	title      string
	detail     string
	retryAfter string
	close      bool
}

func missing() *problem {
	return &problem{status: http.StatusBadRequest, name: "idempotency-key-missing", title: "The Idempotency-Key is missing",
		detail: "send a header Idempotency-Key with a new random value for each request, and the same value when you repeat it"}
}

func invalid(format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, name: "idempotency-key-invalid", title: "The Idempotency-Key is not valid",
		detail: "the Idempotency-Key: " + fmt.Sprintf(format, args...)}
}

func tooLarge(limit int64) *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, name: "too-large", title: "The body is too large",
		detail: fmt.Sprintf("a body may have %d bytes at most", limit), close: true}
}

func incomplete() *problem {
	return &problem{status: http.StatusBadRequest, name: "invalid-request", title: "The body could not be read",
		detail: "the body ended early; nothing was done, send the request again", close: true}
}

func mismatched() *problem {
	return &problem{status: http.StatusUnprocessableEntity, name: "idempotency-key-reused", title: "The Idempotency-Key was used before",
		detail: "this Idempotency-Key belongs to another request; use a new key for a new request"}
}

func (h *HTTP) running() *problem {
	return &problem{status: http.StatusConflict, name: "idempotency-key-in-use", title: "The request is still being handled",
		detail: "a request with this Idempotency-Key is still being handled; send it again later for its response", retryAfter: h.retryAfter()}
}

func notKept(status int) *problem {
	return &problem{status: http.StatusConflict, name: "response-not-kept", title: "The request was handled before",
		detail: fmt.Sprintf("a request with this Idempotency-Key was answered with %d, and its response was too large to keep; it was not handled again", status)}
}

func unreadable() *problem {
	return &problem{status: http.StatusInternalServerError, name: "internal", title: "Something went wrong here",
		detail: "the response kept for this Idempotency-Key cannot be read; the request was not handled again"}
}

func (h *HTTP) unavailable() *problem {
	return &problem{status: http.StatusServiceUnavailable, name: "unavailable", title: "Not available at the moment",
		detail: "nothing was done; send the request again with the same Idempotency-Key", retryAfter: h.retryAfter()}
}

func (h *HTTP) refuse(w http.ResponseWriter, p *problem) {
	// Strings and a number: marshaling them cannot fail.
	body, _ := json.Marshal(map[string]any{
		"type": h.cfg.Problems + p.name, "title": p.title, "status": p.status, "detail": p.detail,
	})
	to := w.Header()
	to.Set("Content-Type", "application/problem+json")
	to.Set("Cache-Control", "no-store")
	to.Set("X-Content-Type-Options", "nosniff")
	if p.retryAfter != "" {
		to.Set("Retry-After", p.retryAfter)
	}
	if p.close {
		to.Set("Connection", "close") // the unread body follows
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
