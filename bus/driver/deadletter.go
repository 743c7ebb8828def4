package driver

// Metadata that a dead letter carries beside the metadata of the original.
const (
	DLQOriginalTopic = "dlq_original_topic" // the topic in which the message failed
	DLQGroup         = "dlq_group"
	DLQReason        = "dlq_reason" // one of the Reason constants of package bus, or the error's FailureReason, at most 256 bytes
	DLQClass         = "dlq_class"  // "transient" or "permanent"
	DLQError         = "dlq_error"  // the last error's text, at most 4 KiB
	DLQStack         = "dlq_stack"  // stack of the panic, or the error's own stack; at most 16 KiB
	DLQAttempts      = "dlq_attempts"
	DLQFirstFailure  = "dlq_first_failure" // RFC 3339, UTC
	DLQLastFailure   = "dlq_last_failure"
	DLQWorker        = "dlq_worker"
)

// DLQRedrive is metadata of a redriven message: the number of redrives. A dead letter keeps it
// when the message fails again.
const DLQRedrive = "dlq_redrive"

// DLQEdits is metadata of a dead letter whose payload was edited: the number of edits.
const DLQEdits = "dlq_edits"

// RedriveGroup is the consumer group with which package redrive reads every dead letter topic.
// The dead letters it has not acknowledged are still to be handled.
const RedriveGroup = "redrive"
