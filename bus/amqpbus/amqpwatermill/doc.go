// Package amqpwatermill is ?mode=watermill of amqp:// and amqps://: Watermill's own AMQP
// adapter (watermill-amqp/v2) as a transport. Its members share queues with programs that
// use Watermill alone, so that a fleet moves to package bus one process at a time.
//
//	b, err := bus.Open(ctx, "amqp://user:password@host/vhost?mode=watermill", amqpwatermill.Scheme(amqpbus.Config{}, amqpwatermill.Config{}))
//
// Without ?mode= the same schemes open the native transport, package amqpbus, which keeps
// the order of keys and handles many keys at once. docs/migrating.md describes how to move
// from one to the other.
//
// Names and wire format are those of Watermill's NewDurablePubSubConfig: a durable fanout
// exchange with the topic's name, and a durable queue topic_group for each group. Messages
// are persistent, and publishers wait for the broker's confirmation. For a fleet with other
// names or queues, set [Config]. Headers that are not text, which Watermill's marshaler
// refuses again and again, become text.
//
// The URL is that of package amqpbus: hosts, user, vhost, TLS, heartbeat and
// connect_timeout work. Open refuses prefix, exchange, partitions, queue_type, prefetch and
// confirm_timeout.
//
//	property                                                     proven by
//	the conformance suites, Watermill's and bustest's            TestConformance
//	a member shares a queue with Watermill's own subscriber,
//	takes over and leaves without loss                           TestSharesAQueueWithWatermill
//	Open does not connect, and names the parameters it refuses   TestURLs
//	connections are encrypted, and sign in                       TestTLS
//	headers that brokers add do not stop a message               TestHeadersOfTheBroker
//
// Durable, groups, broadcast, individual acknowledgements. A member has one message of a
// queue in flight (driver.Capabilities.OneAtATime), so parallelism comes from more members,
// and then the order of a key is lost. A single member keeps the queue's order.
//
// # Failure modes
//
// A fanout exchange drops messages that are published before a queue is bound to it, and
// the broker confirms them: declare each group before the first publish, as bus.Runner
// does. A topic that is declared without a group keeps no messages.
//
// When the connection is lost, Watermill connects again with a backoff of up to 10 s.
// Messages in flight are delivered again, to any member, while their handlers may still be
// at work. Until the connection is back, Publish fails as infrastructure.
//
// Lag counts, for groups that were declared or used here, the messages in their queues and
// those in flight in this process; other processes may have one message more each. Browse
// and Pending show dead letters by consuming up to 2,000 of them and returning them, and
// fail while the letters have a consumer. Partitions and retention of a bus.Topic have no meaning.
package amqpwatermill
