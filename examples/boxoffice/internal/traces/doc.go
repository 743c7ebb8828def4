// Package traces exports the box office's OpenTelemetry spans by OTLP over HTTP, names
// those of its requests, and checks that a collected trace is whole: one trace from an
// HTTP request through the outbox, the transport and the consumer to the frame of a
// live stream.
//
//	traces, err := traces.Open("http://127.0.0.1:4318?ratio=0.1", traces.Config{Service: "boxoffice"})
//	…
//	server.Handler = traces.HTTP(traces.Provider(), quiet, mux)
//	…
//	traces.Close()
//
// The URL is that of a collector; its path is /v1/traces by default. ratio is the part
// of traces that is kept, 1 by default: the whole of a trace or nothing of it. A caller
// that keeps a trace decides so for the box office, too. Headers, such as a collector's
// token, are read from OTEL_EXPORTER_OTLP_HEADERS; a URL with a password is refused,
// since URLs end up in logs.
//
// A request's span is named by its route and has method, route, protocol and status: no
// address, no query string, no header and no body. Requests to /healthz, /readyz and
// /metrics, and long ones such as live streams and sockets, have none.
//
//	property                                                      proven by
//	spans arrive as they were made, over OTLP                     TestSpansArrive
//	an outage or a hang of the collector delays no request, is
//	logged once, and delays an end by the timeout at most
//	                                                              TestCollectorAway, TestCollectorThatHangs
//	an end sends the remaining spans                              TestSpansArrive
//	a relay's span is kept with the traces it links to            TestSampling
//	forbidden parts of a URL are named                            TestMistakes
//	a request's span says its route and nothing secret            TestRequestsTellNoSecrets
//	quiet requests have no span; streams flush, are taken over    TestQuietRequests, TestRequestsLetThrough
//	a whole trace differs from a broken one                       TestWhole
//	the spans of a collector are bounded                          TestCollectorIsBounded
package traces
