package idempotency

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// replayed is the header of a response that was kept from an earlier request.
const replayed = "Idempotency-Replayed"

// recorder holds a response back until it is larger than its limit.
type recorder struct {
	real    http.ResponseWriter
	limit   int
	header  http.Header // the handler's
	sent    http.Header // as they were when the handler decided on the status
	status  int         // 0 until then
	body    bytes.Buffer
	flowing bool // the response is too large and is sent to the client at once
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	// Informational statuses are not a response yet, and are dropped here.
	if r.status == 0 && status >= 200 {
		r.status = status
		r.sent = r.header.Clone()
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.finish()
	if !r.flowing && r.body.Len()+len(p) > r.limit {
		r.flow()
	}
	if r.flowing {
		return r.real.Write(p)
	}
	return r.body.Write(p)
}

// finish sets the status that net/http would set.
func (r *recorder) finish() {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
}

// flow begins to send the response.
func (r *recorder) flow() {
	if r.flowing {
		return
	}
	r.flowing = true
	to := r.real.Header()
	clear(to) // the handler began with a copy, and may have removed headers
	maps.Copy(to, r.sent)
	if to.Get("Content-Type") == "" && r.body.Len() > 0 && to.Get("Content-Encoding") == "" {
		to.Set("Content-Type", http.DetectContentType(r.body.Bytes()))
	}
	r.real.WriteHeader(r.status)
	_, _ = r.real.Write(r.body.Bytes()) // the client may be gone
}

// send sends the held-back response to the client.
func (r *recorder) send() {
	if !r.flowing {
		r.sent.Set("Content-Length", strconv.Itoa(r.body.Len()))
		if !bodyAllowed(r.status) {
			r.sent.Del("Content-Length")
		}
		r.flow()
	}
}

func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified && status != http.StatusResetContent
}

// response is a kept response, as JSON in the lease's result.
type response struct {
	Status   int         `json:"status"`
	Header   http.Header `json:"header,omitempty"`
	Body     []byte      `json:"body,omitempty"`
	TooLarge bool        `json:"tooLarge,omitempty"`
}

// stored returns the response in its kept form.
func (r *recorder) stored(headers []string) ([]byte, error) {
	s := response{Status: r.status, TooLarge: r.flowing}
	if !r.flowing {
		s.Body, s.Header = r.body.Bytes(), http.Header{}
		for _, name := range headers {
			if values := r.sent.Values(name); len(values) > 0 {
				s.Header[http.CanonicalHeaderKey(name)] = values
			}
		}
		if s.Header.Get("Content-Type") == "" && r.body.Len() > 0 && s.Header.Get("Content-Encoding") == "" {
			s.Header.Set("Content-Type", http.DetectContentType(s.Body))
		}
	}
	return json.Marshal(s)
}

func parseStored(result []byte) (s response, err error) {
	if err := json.Unmarshal(result, &s); err != nil {
		return s, fmt.Errorf("idempotency: the kept response: %w", err)
	}
	if s.Status < 200 || s.Status > 999 {
		return s, fmt.Errorf("idempotency: the kept response has the status %d", s.Status)
	}
	return s, nil
}

func (s response) write(w http.ResponseWriter) {
	to := w.Header()
	maps.Copy(to, s.Header)
	to.Set(replayed, "true")
	if bodyAllowed(s.Status) {
		to.Set("Content-Length", strconv.Itoa(len(s.Body)))
	}
	w.WriteHeader(s.Status)
	_, _ = w.Write(s.Body) // the client may be gone
}
