// Package kafkabench measures the relay from an outbox in PostgreSQL to Kafka, end to end.
// Beside it are a bare program, which reads the same rows with pgx and hands them to
// franz-go, and keeps no place; franz-go driven flat out with the same messages as records
// in memory; and Watermill Kafka's publisher, which sends one message at a time.
//
// All of them ask for the acknowledgement of every in-sync replica, are idempotent, compress
// by zstd, and have topics of their own, which are deleted at the end. The brokers' offsets
// count the messages that arrived.
package kafkabench
