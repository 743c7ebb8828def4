package gateway

import (
	"context"
	"net/http/httptrace"
)

// httptraceWrote closes sent once a request is on the wire.
func httptraceWrote(ctx context.Context, sent chan<- struct{}) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) },
	})
}
