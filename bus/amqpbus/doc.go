// Package amqpbus is the transport amqp://, and amqps:// over TLS: topics and
// consumer groups on RabbitMQ 3.10 to 4.x, as queues on a topic exchange.
// Messages have Watermill AMQP's format.
//
//	b, err := bus.Open(ctx, "amqp://user:password@host:5672/vhost", amqpbus.Scheme(amqpbus.Config{}))
//	err = b.Declare(ctx, bus.Topic{Name: "payment.events", Groups: []string{"stats", "tickets"}})
//
// Declare every group before the first publish: a group is a set of queues, and receives
// the messages that are published after their creation. Publishing a message that no queue
// accepts returns errUnroutable.
//
// # Guarantees
//
//	property                                                        proven by
//	the conformance suites, Watermill's and bustest's               TestConformance
//	a restarted or killed broker loses nothing and keeps the order  TestRestartedBroker
//	cut connections lose nothing and keep the order                 TestCutConnections
//	instances share queues; order holds when they come and go       TestInstancesShareAndHandOver
//	a queue whose messages in flight do not end is not released,
//	and its other messages go on                                    TestAQueueThatCannotBeReleasedGoesOn
//	order holds after consumers crash in a row                      TestOrderAfterCrashesInARow
//	the broker drops nothing, however often it delivers             TestManyRedeliveries
//	an orderly stop repeats no acknowledged message, also when
//	the broker is slow                                              TestAnOrderlyStopBehindASlowBroker
//	a missing confirm is an error in bounded time                   TestConfirmTimeout, TestUnreachableBroker
//	the end of a context ends Publish and requests, also when the
//	broker hangs                                                    TestDeadlineEndsPublish, TestDeadlineEndsRequests
//	a message that the broker refuses fails alone                   TestTooLargeFailsAlone
//	an unroutable message is an error that names the topic          TestUnroutable
//	calls that share a channel have their own outcomes              TestTooLargeFailsAlone, TestReturnsOfCallsTogether
//	unroutable messages are held if the topic was declared so       TestHeldTopic
//	plain queues, bound by event type                               TestPlainQueues
//	groups choose their number of queues, publishers need not know  TestPartitions
//	a prefix keeps two environments apart                           TestPrefixKeepsApart
//	a deleted queue is created again                                TestDeletedQueueIsMadeAgain
//	a queue with other properties is not used                       TestForeignQueue
//	Watermill AMQP reads and writes the same messages               TestWatermillReadsAndWrites
//	TLS works, and its errors name the cause                        TestTLS
//	several hosts                                                   TestHosts
//	errors name the cause and repeat no credential                  TestURLErrors, TestRefusedByTheBroker
//
// Durable, ordered per key, consumer groups, broadcast, individual acknowledgements (sent
// to the broker within 100 ms, and by Close). No replay: a new group does not receive
// messages that were published before. No delayed redelivery and no dead letters of its
// own: package bus does both.
//
// # Exchange, queues and bindings
//
// All messages are published to one durable topic exchange, domain_events. A message of a
// topic has the routing key topic.slot.type: the slot is the FNV-1a hash of its key modulo
// 48, the type its event type with everything but letters, digits, - and _ replaced by _
// ("message" when it has none).
//
// A group of a topic has queues topic:group:0 to topic:group:2 (as many as the topic was
// declared with; topic:group when that is one), each bound to its share of the slots, so
// groups of one topic may differ. A group keeps the number of queues it was created with;
// to change it, drain its queues, delete them, and declare the group again. Other programs
// reach all groups of a topic with the topic as routing key.
//
// The topic that is named like the exchange is for plain queues that other programs share.
// Its routing keys are the event types alone. Each of its groups has one queue, named like
// the group and bound to the types in Config.Bindings or to all:
//
//	amqpbus.Config{Bindings: map[string][]string{
//		"chat_persist_queue": {"ChatMessageSent"},
//		"aggregate_queue":    {"CommentCountDeltaPublished"},
//	}}
//	b.Declare(ctx, bus.Topic{Name: "domain_events", Groups: []string{"chat_persist_queue", "aggregate_queue"}})
//
// A binding that is removed from the Config stays at the broker; remove it there.
//
// Two environments on one vhost need a prefix each (?prefix=staging.), before the names of
// the exchange and of all queues. Another exchange alone does not keep them apart: the
// queues of a topic's group have the same names.
//
// Dead letters are in plain queues too: bus/driver.RedriveGroup, the group of every dead letter
// topic, has one queue of the topic's name. A topic that is declared without groups gets
// that queue unbound: it holds the messages that no group accepts. Only this queue has a
// retention, and only it can be browsed, while it has no consumer, up to its 2,000 oldest messages.
//
// # Order
//
// Every queue has a single active consumer, so a key has one consumer at a time. Messages
// of a key are in one queue, in the order in which Publish returned for them, or of their
// position in one call. Unacknowledged messages of a consumer come first at the next
// consumer. This package itself redelivers a nacked message, before later ones of its key.
//
// The broker gives all queues to the instance that came first. So instances count each
// other (on a queue topic:group:members that carries no messages), and an instance with
// more than its share finishes the messages in flight of a queue and releases it. If they
// take longer than 30 s, it keeps the queue, and is not asked for it again for 5 minutes.
//
// Two limits. First, quorum queues put returned messages behind those returned earlier:
// give all instances the same prefetch, or after two crashes in a row some messages may be
// overtaken. Second, when Publish fails in the middle of a call, later messages of the call
// may have arrived while earlier ones have not: publish the call again, as the outbox does.
//
// # Quorum or classic
//
// Quorum queues are the default: they are replicated if the broker is a cluster and survive
// the loss of a node. On brokers from 4.0 on they are declared with x-delivery-limit=-1, or
// they would drop messages after 20 deliveries. A queue that an older broker created needs
// a policy for that, and a warning is logged. Never set a delivery-limit, a maximum length
// or a TTL by policy on these queues: each drops messages. Classic queues are on one node,
// cost less memory, and keep the order without the condition above. Which of the two is
// faster depends on the disk (BenchmarkPublish, BenchmarkConsume). The type of an existing
// queue cannot change.
//
// # Failure modes
//
// Open does not connect. While the broker is absent, Publish tries for the connect timeout
// and fails as infrastructure, and consumers wait for the broker.
//
// When the broker restarts or the connection is lost, consumers subscribe again within
// about half a second of its return. Unacknowledged messages are delivered again: the
// contexts of those in flight end, and their acknowledgements are dropped. A Publish in
// flight returns an error: the messages may have arrived, so publish them again.
// Later calls try to connect for the connect timeout. A broker that is short of memory or
// disk blocks publishers, which is an error after the confirm timeout at the latest. All of
// these errors are infrastructure in the sense of package fault. A message that no queue takes is
// a transient error.
//
// The broker takes back a message that is not acknowledged within its consumer_timeout, 30
// minutes by default, by closing the channel: a handler that takes longer, or a paused one,
// gets it again. For slow work, raise the timeout on the broker.
//
// Up to 16 small calls of Publish share a channel. The confirms of one call do not wait for
// those of another. The broker closes a channel for a mistake of one call, such as a message
// larger than it takes: each of the calls is made again on a channel of its own, so messages
// of the others may be in the queues twice.
//
// Lag counts the messages in the queues and those this process holds. It does not include
// messages held by other processes, up to the prefetch of each queue.
//
// A user without the right to configure can publish to and consume from existing queues.
package amqpbus
