// Package eventlog adds the ids of an event to every log line about the event, with log/slog.
//
//	log := slog.New(eventlog.NewHandler(slog.NewJSONHandler(os.Stderr, nil)))
//	…
//	func handle(ctx context.Context, e event.Event) error { // by bus.Handle
//		log.InfoContext(ctx, "seat sold", "seat", "A-1") // … event_id=… correlation_id=…
//	}
//
// Package bus puts the event being handled into the context of its handler, with
// event.NewContext. A handler that decodes messages itself has to do the same. A line has
//
//	event_id         the event's id
//	correlation_id   its correlation id, or its own id when it has none, like
//	                 its children; in a request that of event.WithCorrelation
//	trace_id         of the span in the context, or else of the event's traceparent
//	span_id          of the span in the context, if this process made it
//
// each if it is known, and unless the line has it already. Lines need the context: Info does
// not pass the context, InfoContext does.
//
//	property                                                      proven by
//	lines about an event have its ids, and those of the span      TestIDs, ExampleNewHandler
//	… without a span the trace of the event                       TestIDs
//	… once, even if the caller adds them too                      TestIDsStandOnce
//	… at the top level, even inside open groups                   TestIDsStandOutsideOfGroups
//	a line without an event is unchanged                          TestNothingToSay
//	the Handler satisfies the contract of slog.Handler            TestHandlerIsAHandler
//	an attribute about a message has its ids and nothing else     TestMessage
//	lines of the library about an event have its ids, and no
//	line has a secret, a token or a payload                       TestConsumersTellNoSecrets, TestRelaysTellNoSecrets,
//	                                                              TestStreamsTellNoSecrets, TestTransportsTellNoPasswords
//
// Payloads, headers and keys are never logged: this package reads only the ids of an event.
package eventlog
