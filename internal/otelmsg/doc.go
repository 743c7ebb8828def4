// Package otelmsg is what the packages share that make OpenTelemetry spans: the
// names of the messaging conventions, and the W3C trace context as text. It imports
// the OpenTelemetry API and makes no provider. Package otelevent finds the contexts of
// events and messages.
//
// A nil [Tracer] makes no spans; whoever has one asks it before any work that
// only spans need.
//
//	span                 kind        parent                       links
//	create {topic}       PRODUCER    the span in the context      none
//	send {topic}         CLIENT      the span in the context      each message's context
//	                     PRODUCER    same, where a message gets   each other message's
//	                                 the send's own context
//	process {topic}      CONSUMER    the message's context        none
//	process {topic}      CONSUMER    none, for a batch            each message's context
//	deliver {event}      CONSUMER    the context of who sent it   none
//
// An error is told by error.type and the span's status. Its text is not: it may
// quote what a message says, and stands in the log line with the span's id.
//
//	property                                                      proven by
//	names and values are those of the conventions                 TestNamesAreThoseOfTheConventions
//	traceparent and tracestate are read and written as the
//	OpenTelemetry propagator does                                 TestContextsAgreeWithThePropagator, FuzzParse
//	a context packed into a short field comes back                TestPack
package otelmsg
