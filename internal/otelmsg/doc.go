// Package otelmsg is shared by the packages that make OpenTelemetry spans: the names of the
// messaging conventions, and the W3C trace context as text. It imports the OpenTelemetry API and
// makes no provider. Package otelevent finds the contexts of events and messages.
//
// A nil [Tracer] makes no spans; check for nil before any work that only spans need.
//
//	span                 kind        parent                       links
//	create {topic}       PRODUCER    the span in the context      none
//	send {topic}         CLIENT      the span in the context      each message's context
//	                     PRODUCER    same, where a message gets   each other message's
//	                                 the send's own context
//	process {topic}      CONSUMER    the message's context        none
//	process {topic}      CONSUMER    none, for a batch            each message's context
//	deliver {event}      CONSUMER    the sender's context         none
//
// An error is reported by error.type and the span's status, without its text: the text may quote
// a message, and is in the log line with the span's id.
//
//	property                                                      proven by
//	names and values are those of the conventions                 TestNamesAreThoseOfTheConventions
//	traceparent and tracestate are read and written as the
//	OpenTelemetry propagator does                                 TestContextsAgreeWithThePropagator, FuzzParse
//	a context packed into a short field is unpacked               TestPack
package otelmsg
