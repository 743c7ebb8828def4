// Package watermillbus makes a transport of any Watermill publisher and subscriber, so
// that every adapter that exists for Watermill is a transport here: consumers with
// retries, dead letters, redrive and pauses run on it as on the others.
//
//	d, err := watermillbus.New(watermillbus.Config{
//		Publisher:    func(context.Context) (message.Publisher, error) { return theirs.NewPublisher(…) },
//		Subscriber:   func(_ context.Context, group string) (message.Subscriber, error) { return theirs.NewSubscriber(…) },
//		Capabilities: bus.Capabilities{Durable: true, ConsumerGroups: true, OneAtATime: true},
//	})
//	b := bus.New("theirs", d)
//
// [Scheme] does the same for a URL. Packages kafkawatermill, amqpwatermill and
// rediswatermill, below the transports of these brokers, are ?mode=watermill: Watermill's
// own adapters with its names and its wire, so that a process joins or leaves a fleet that
// uses Watermill alone.
//
// # Guarantees
//
//	property                                                     proven by
//	the conformance suites, Watermill's and bustest's            TestConformance
//	nothing is acknowledged before its handler is done           TestConformance, and package wmsource
//	opening calls nothing; what fails later is infrastructure,
//	unless Config.Classify knows better                          TestOpeningCallsNothing, TestErrorsAreClassified
//	Publish says of each message whether it is published         TestPublishSaysWhatBecameOfEachMessage
//	messages of a key are published one after the other, those
//	of other keys beside them                                    TestPublishKeepsTheOrderOfKeys
//	the end of a context ends the wait for an adapter that does
//	not heed it                                                  TestTheEndOfAContextEndsTheWait
//	Close closes what was opened, also what came too late        TestCloseClosesWhatCameTooLate
//	?mode= of a scheme is watermill or absent; parameters that
//	have no meaning in that mode are refused                     TestWithMode, TestRefuse
//
// # How far it reaches
//
// The Pub/Sub decides about durability, groups and order, and Config.Capabilities has to
// say so. What package bus does by itself works on each: retries with backoff, dead
// letters, redrive, pauses, timeouts, drains. Three things depend on the adapter:
//
//   - Most subscribers of Watermill hand over one message, and the next one when that is
//     acknowledged (of a partition on Kafka; of the subscription on RabbitMQ and Redis).
//     The capability is OneAtATime: Concurrency beyond that has no use, a message that is
//     being retried holds up the others, batches are small, and other keys cannot probe
//     while a consumer is paused.
//   - The order of a key holds as far as the subscriber delivers in order, after a negative
//     acknowledgement and to several members, too.
//   - A subscriber that does not end a message's context when the broker has taken the
//     message back lets a handler finish that another member repeats.
//
// A batch holds what the adapter has in hand. Acknowledgements are the adapter's; when a
// subscription is closed, those that were given before are carried out first, which
// adapters by themselves leave to chance. The sign of that is the end of the message's
// context, as in all adapters of Watermill's authors; an adapter that never ends it costs
// two seconds at each Close.
//
// # Failure modes
//
// Each message is published by a call of its own, up to 16 keys at once, because an
// adapter's error does not say which messages of a call it is about. A message is Unknown
// after an error, and those behind it of the same key are NotSent. When the end of a
// context ends the wait, the adapter's call goes on: the message may be published later,
// behind newer ones of its key that were published meanwhile.
//
// Close waits for calls of the adapter that nobody else waits for.
//
// A driver that embeds [Driver] may add [bus.Lagger] and the other optional interfaces.
// Without a Lagger a redrive cannot know when it has seen all letters, and waits for
// redrive.Config.Wait at its end.
package watermillbus
