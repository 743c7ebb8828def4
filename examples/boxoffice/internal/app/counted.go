package app

import (
	"net/http"
	"net/http/httptrace"
)

// counted counts outgoing calls: when they are written, each hop and each repetition.
type counted struct {
	next  http.RoundTripper
	count func()
}

// RoundTrip implements http.RoundTripper.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			c.count()
		}
	}})
	return c.next.RoundTrip(r.WithContext(ctx))
}
