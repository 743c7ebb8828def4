// Package bookingbench measures how many seats a box office books a second, as its
// processes grow in number: each process is the reference app with all roles, and
// they share PostgreSQL, Kafka and a Redis Cluster.
//
// A booking is a request over HTTP of a visitor that has signed in and passed the
// waiting room: the entry token is checked, the place in the room is looked up in
// Redis, seats are held and the reservation is written in one transaction with its
// event. Meanwhile the relays publish the events to Kafka and the workers of the
// same processes consume them. Two rates are taken: until the last booking is
// answered, and until the outbox is empty.
//
// The limit is the bare SQL of the same bookings, by as many connections as there
// were callers, on the same tables: no HTTP, no waiting room, no event.
//
//	property                                                   proven by
//	every booking is answered and counted by the database      TestRun
//	nothing is left: schema, keys, processes, folders          TestRun
//	a process that ends by itself is told with its last words  TestAProcessThatEnds
//	a run that asks for more seats than there are is refused   TestConfig
//
// Failure modes: the topics of the box office have fixed names. Another box office
// on the same Kafka gets some of the events, which disturbs both. Use brokers of
// your own, as make bench does. A benchmark that is killed with SIGKILL leaves its
// processes behind; an interrupted one does not.
package bookingbench
