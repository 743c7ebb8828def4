package otelmsg

import "go.opentelemetry.io/otel/attribute"

// Attributes of the messaging conventions.
const (
	System         attribute.Key = "messaging.system"
	OperationName  attribute.Key = "messaging.operation.name"
	OperationType  attribute.Key = "messaging.operation.type"
	Destination    attribute.Key = "messaging.destination.name"
	MessageID      attribute.Key = "messaging.message.id"
	ConversationID attribute.Key = "messaging.message.conversation_id"
	ConsumerGroup  attribute.Key = "messaging.consumer.group.name"
	BatchCount     attribute.Key = "messaging.batch.message_count"
	ErrorType      attribute.Key = "error.type"
)

// Millrace's own attributes.
const (
	// Attempt counts the deliveries of a message to this consumer's handler, from 1.
	Attempt attribute.Key = "millrace.delivery.attempt"
	// Outcome is the outcome of a delivery.
	Outcome attribute.Key = "millrace.delivery.outcome"
	// FaultClass is the class of a failure in the sense of package fault.
	FaultClass attribute.Key = "millrace.fault.class"
	// Delay is how long until the next attempt, in seconds.
	Delay attribute.Key = "millrace.delivery.delay"
	// DeadLetterTopic is the topic of a dead letter.
	DeadLetterTopic attribute.Key = "millrace.dead_letter.destination"
	// Streams is how many streams of the process got a message.
	Streams attribute.Key = "millrace.sse.streams"
	// Dropped is how many of those streams missed it.
	Dropped attribute.Key = "millrace.sse.dropped"
)

// Operations, by which spans are named.
const (
	Create  = "create"
	Send    = "send"
	Process = "process"
	Deliver = "deliver"
)

// SystemOf returns the messaging.system of a transport with the given scheme. A second scheme of a
// transport, such as that for TLS, has the name of the first.
func SystemOf(scheme string) string {
	switch scheme {
	case "amqp", "amqps":
		return "rabbitmq"
	case "rediss":
		return "redis"
	case "tls":
		return "nats"
	case "postgresql":
		return "postgres"
	case "sqs":
		return "aws_sqs"
	case "sns":
		return "aws.sns"
	default: // the conventions have kafka, and allow other names
		return scheme
	}
}
