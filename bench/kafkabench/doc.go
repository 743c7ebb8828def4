// Package kafkabench measures the relay from an outbox in PostgreSQL to Kafka,
// end to end, beside the same Sarama producer driven flat out with the same
// messages already in memory, and beside Watermill Kafka's publisher, which
// sends one message at a time.
//
// All of them use the configuration that package kafkabus gives its clients, and
// topics of their own, which are deleted at the end. What arrived is counted by
// the brokers' offsets.
package kafkabench
