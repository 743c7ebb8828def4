// Package watermillkafka opens Watermill Kafka's own publisher and subscriber,
// as peers of package kafkabus.
package watermillkafka

// Name of the peer in reports.
const Name = "watermill-kafka v3.0.6"
