// Package traces exports the box office's OpenTelemetry spans by OTLP over HTTP, names
// those of its requests, and holds a collected trace to what it owes: one trace from an
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
// of traces that is kept, 1 by default: the whole of a trace or nothing of it, and a
// caller who keeps a trace decides so for the box office, too. Headers, such as a
// collector's token, are read from OTEL_EXPORTER_OTLP_HEADERS; a URL with a password is
// refused, since URLs end up in logs.
//
// A request's span is named by its route and has method, route, protocol and status:
// no address, no query string, no header and no body. What is on /healthz, /readyz and
// /metrics, and what goes on as live streams and sockets do, has none.
//
//	property                                                      proven by
//	spans arrive as they were made, over OTLP                     TestSpansArrive
//	a collector that is away or hangs never holds anything up,
//	is told of once, and an end waits for it so long and no longer
//	                                                              TestCollectorAway, TestCollectorThatHangs
//	an end sends what is left                                     TestSpansArrive
//	a relay's span is kept with the traces it links to            TestSampling
//	what a URL must not have is named                             TestMistakes
//	a request's span says its route and nothing secret            TestRequestsTellNoSecrets
//	what is quiet has no span; streams flush and are taken over   TestQuietRequests, TestRequestsLetThrough
//	a whole trace is told from one that is not                    TestWhole
//	what a collector keeps is bounded                             TestCollectorIsBounded
package traces
