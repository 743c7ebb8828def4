// Package amqpbus is the transport amqp://, and amqps:// over TLS: topics and
// consumer groups on RabbitMQ 3.10 to 4.x, as queues on a topic exchange.
// Messages have Watermill AMQP's format.
//
//	o := bus.NewOpener(amqpbus.Schemes(amqpbus.Config{})...)
//	b, err := o.Open(ctx, "amqp://user:password@host:5672/vhost")
//	err = b.Declare(ctx, bus.Topic{Name: "payment.events", Groups: []string{"stats", "tickets"}})
//
// Declare every group before anything is published: a group is a set of queues,
// and gets what is published after they were made. A message that no queue takes
// is ErrUnroutable.
//
// # Guarantees
//
//	property                                                        proven by
//	the conformance suites, Watermill's and bustest's               TestConformance
//	a restarted or killed broker loses nothing and keeps the order  TestRestartedBroker
//	cut connections lose nothing and keep the order                 TestCutConnections
//	instances share queues; order holds when they come and go       TestInstancesShareAndHandOver
//	order holds after consumers crash in a row                      TestOrderAfterCrashesInARow
//	the broker drops nothing, however often it delivers             TestManyRedeliveries
//	what the broker does not confirm is an error in bounded time    TestConfirmTimeout, TestUnreachableBroker
//	what the broker refuses fails alone                             TestTooLargeFailsAlone
//	what no queue takes is an error that names the topic            TestUnroutable
//	what no group takes is held, where that was declared            TestHeldTopic
//	plain queues, bound by event type                               TestPlainQueues
//	groups choose their number of queues, publishers need not know  TestPartitions
//	a prefix keeps two environments apart                           TestPrefixKeepsApart
//	a deleted queue is made again                                   TestDeletedQueueIsMadeAgain
//	a queue with other properties is not used                       TestForeignQueue
//	Watermill AMQP reads and writes the same messages               TestWatermillReadsAndWrites
//	TLS works, and what is wrong with it is said                    TestTLS
//	several hosts                                                   TestHosts
//	errors say what is wrong and repeat no credential               TestURLErrors, TestRefusedByTheBroker
//
// Durable, ordered per key, consumer groups, broadcast, individual
// acknowledgements (told to the broker within 100 ms, and by Close). No replay: a new group does not see what was published
// before. No delayed redelivery and no dead letters of its own: package bus does
// both.
//
// # Exchange, queues and bindings
//
// Everything is published to one durable topic exchange, domain_events. A
// message of a topic has the routing key topic.slot.type: the slot is the FNV-1a
// hash of its key modulo 48, the type its event type with everything but
// letters, digits, - and _ replaced by _ ("message" when it has none).
//
// A group of a topic has queues topic:group:0 to topic:group:2 (as many as the
// topic was declared with; topic:group when that is one), each bound to its
// share of the slots, so groups of one topic may differ. A group keeps the number
// it was made with; to change it, drain its queues, delete them, and declare
// anew. Other programs reach all groups of a topic with the topic as routing key.
//
// The topic that is named like the exchange is for plain queues that other
// programs share. Its routing keys are the event types alone, its groups have one
// queue each, of the group's name, bound to the types in Config.Bindings or to
// all:
//
//	amqpbus.Config{Bindings: map[string][]string{
//		"chat_persist_queue": {"ChatMessageSent"},
//		"aggregate_queue":    {"CommentCountDeltaPublished"},
//	}}
//	b.Declare(ctx, bus.Topic{Name: "domain_events", Groups: []string{"chat_persist_queue", "aggregate_queue"}})
//
// A binding that is taken out of the Config stays at the broker; remove it there.
//
// Two environments on one vhost need a prefix each (?prefix=staging.), before the names of
// the exchange and of all queues. Another exchange alone does not keep them apart: the
// queues of a topic's group have the same names.
//
// Dead letters are in plain queues too: bus.RedriveGroup, the group of every dead
// letter topic, has one queue of the topic's name. A topic that is declared
// without groups gets that queue unbound: it holds what no group takes. Only this
// queue has a retention, and only it can be browsed, while nobody consumes it,
// up to its 2,000 oldest messages.
//
// # Order
//
// Every queue has a single active consumer, so a key has one consumer at a time,
// and messages of a key are in one queue, in the order in which Publish returned
// for them, or in which they stood in one call. What a consumer had and did not
// acknowledge comes before everything else to the next one. A nacked message is
// delivered again by this package itself, before later ones of its key.
//
// The broker gives all queues to the instance that came first, so instances count
// each other (on a queue topic:group:members that carries no messages), and who
// has more than his share finishes what is out and steps back.
//
// Two limits. Quorum queues put what was returned behind what was returned
// earlier: give all instances the same prefetch, or after two crashes in a row a
// part may be overtaken. And when Publish fails in the middle of a call, later
// messages of the call may have arrived while earlier ones have not: publish the
// call again, as the outbox does.
//
// # Quorum or classic
//
// Quorum queues are the default: they are replicated where the broker is a
// cluster and survive the loss of a node. On brokers from 4.0 on they are declared
// with x-delivery-limit=-1, or they would drop what was delivered 20 times; a
// queue that an older broker made needs a policy for that, which a warning says.
// Never set a delivery-limit, a maximum length or a TTL by policy on these queues:
// each drops messages. Classic queues are on one node, cost less memory, and
// keep the order without the condition above; which of the two is faster depends
// on the disk (BenchmarkPublish, BenchmarkConsume). The type of an existing queue cannot change.
//
// # Failure modes
//
// Open does not connect. While the broker is absent, Publish tries for the connect
// timeout and fails as infrastructure, and consumers wait for it.
//
// When the broker restarts or the connection is lost, consumers subscribe again
// within about half a second of its return, what was not acknowledged comes
// again, the contexts of what was out end, and acknowledgements of it are
// dropped. A Publish under way returns ErrUnconfirmed: the messages may have
// arrived, so publish them again; later calls go on trying to connect for the
// connect timeout. A broker that is short of memory or disk stops publishers,
// which is an error after the confirm timeout at the latest. All of this is
// infrastructure in the sense of package fault; ErrUnroutable is transient.
//
// The broker takes a message back that is not acknowledged within its
// consumer_timeout, 30 minutes by default, by closing the channel: a handler that
// takes longer, or a pause, gets it again. Raise it on the broker for slow work.
//
// Lag counts what waits in the queues and what this process holds; what other
// processes hold is not known, up to the prefetch of each queue.
//
// A user without the right to configure can publish and consume what others have
// declared.
package amqpbus
