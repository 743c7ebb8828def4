// Package eventlog puts the ids by which an event is found into every log line
// that is about it, with log/slog.
//
//	log := slog.New(eventlog.NewHandler(slog.NewJSONHandler(os.Stderr, nil)))
//	…
//	func handle(ctx context.Context, e event.Event) error { // by bus.Handle
//		log.InfoContext(ctx, "seat sold", "seat", "A-1") // … event_id=… correlation_id=…
//	}
//
// Package bus puts the event that is handled into the context of its handler, by
// event.NewContext. A handler that decodes its messages itself does the same. A line has
//
//	event_id         the event's id
//	correlation_id   its correlation id, or its own id when it has none, as its
//	                 children will say; in a request that of event.WithCorrelation
//	trace_id         of the span in the context, or else of the event's traceparent
//	span_id          of the span in the context, if this process made it
//
// each when it is known, and unless the line says it itself. Lines need the context:
// Info does not know it, InfoContext does.
//
//	property                                                      proven by
//	lines about an event have its ids, and those of the span      TestIDs, ExampleNewHandler
//	… without a span the trace of the event                       TestIDs
//	… once, whoever says them                                     TestIDsStandOnce
//	… at the top, whatever groups are open                        TestIDsStandOutsideOfGroups
//	a line without an event is as it was                          TestNothingToSay
//	all else a handler of slog owes                               TestHandlerIsAHandler
//	an attribute about a message says its ids, and nothing else   TestMessage
//	lines of the library about an event have its ids, and no
//	line has a secret, a token or a payload                       TestConsumersTellNoSecrets, TestRelaysTellNoSecrets,
//	                                                              TestStreamsTellNoSecrets, TestTransportsTellNoPasswords
//
// Payloads, headers and keys are never logged: nothing here reads more of an event
// than its ids.
package eventlog
