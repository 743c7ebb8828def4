// Package outboxbench measures outbox relays side by side, in one run, in turns:
//
//	Run          ours, watermill-sql with its forwarder, and River on PostgreSQL
//	RunMariaDB   ours and watermill-sql with its forwarder on MariaDB
//	RunMySQL     the same on MySQL
//	RunStatus    our status kind and a plain SKIP LOCKED relay on PostgreSQL
//	RunGrowth    ours on PostgreSQL by backlog and shards, and a read by primary key
//
// Each system lives in a schema or database of its own and relays into a
// publisher that only counts. The first two judge it by how fast it drains a
// backlog, and by how long after a commit an event is published while another
// process appends at a steady rate.
package outboxbench
