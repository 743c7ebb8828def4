// Package watermillbus makes a transport of any Watermill publisher and subscriber. Every
// adapter for Watermill is then a transport: consumers with retries, dead letters, redrive and
// pauses run on it as on the others.
//
//	d, err := watermillbus.New(watermillbus.Config{
//		Publisher:    func(context.Context) (message.Publisher, error) { return theirs.NewPublisher(…) },
//		Subscriber:   func(_ context.Context, group string) (message.Subscriber, error) { return theirs.NewSubscriber(…) },
//		Capabilities: driver.Capabilities{Durable: true, ConsumerGroups: true, OneAtATime: true},
//	})
//	b := bus.New("theirs", d)
//
// [Scheme] does the same for a URL. Packages kafkawatermill, amqpwatermill and rediswatermill,
// below the transports of these brokers, are ?mode=watermill: Watermill's own adapters with its
// names and its wire format, so that a process can join or leave a fleet that uses Watermill
// alone.
//
// # Guarantees
//
//	property                                                     proven by
//	the conformance suites, Watermill's and bustest's            TestConformance
//	no message is acknowledged before its handler is done        TestConformance, and package wmsource
//	opening calls nothing; later failures are infrastructure
//	unless Config.Classify decides otherwise                     TestOpeningCallsNothing, TestErrorsAreClassified
//	Publish returns the outcome of each message                  TestPublishSaysWhatBecameOfEachMessage,
//	                                                             TestPublishSendsNothingAfterTheEnd
//	messages of a key are published one after the other, those
//	of other keys in parallel                                    TestPublishKeepsTheOrderOfKeys
//	a published message stays as it was, whatever the adapter
//	writes into its metadata                                     TestPublishChangesNoMessage
//	a panic of an adapter fails its own call                     TestAnAdaptersPanicFailsItsCall
//	the end of a context ends the wait for an adapter that
//	ignores it                                                   TestTheEndOfAContextEndsTheWait
//	Close closes all that was opened, also late results          TestCloseClosesWhatCameTooLate
//	?mode= of a scheme is watermill or absent; parameters that
//	have no meaning in that mode are refused                     TestWithMode, TestWithModeRefusesParameters
//
// # Limits
//
// The Pub/Sub determines durability, groups and order, and Config.Capabilities has to declare
// them. The features of package bus work on every Pub/Sub: retries with backoff, dead letters,
// redrive, pauses, timeouts, drains. Three properties depend on the adapter:
//
//   - Most subscribers of Watermill hand over one message, and the next one after its
//     acknowledgement (per partition on Kafka; per subscription on RabbitMQ and Redis). The
//     capability is OneAtATime: more Concurrency has no effect, a message that is being retried
//     delays the others, batches are small, and other keys cannot probe while a consumer is
//     paused.
//   - Order per key holds as far as the subscriber delivers in order, also after a negative
//     acknowledgement and to several members.
//   - If a subscriber does not end a message's context when the broker takes the message back,
//     the handler finishes although another member repeats the message.
//
// A batch holds the messages that the adapter has handed over. Acknowledgements are the
// adapter's. When a subscription is closed, the acknowledgements made before are completed
// first; adapters alone do not guarantee that. A message's context ends when its acknowledgement
// is complete, as in all adapters of Watermill's authors; an adapter that never ends it costs
// two seconds at each Close.
//
// # Failure modes
//
// Each message is published by a call of its own, up to 16 keys at once, because an adapter's
// error does not tell to which messages of a call it applies. After an error, the message is
// Unknown, and those behind it of the same key are NotSent. When the end of a context ends the
// wait, the adapter's call goes on: the message may be published later, behind newer messages of
// its key.
//
// Close waits for adapter calls whose callers no longer wait.
//
// A driver that embeds [Driver] may add [driver.Lagger] and the other optional interfaces. Without
// a Lagger, a redrive cannot know when it has seen all letters, and waits for
// redrive.Config.Wait at its end.
package watermillbus
