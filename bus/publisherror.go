package bus

import "github.com/millrace-go/millrace/bus/driver"

// PublishError is in the chain of every error of [Bus.Publisher]. For each message of the call
// it tells whether the message is in the topic, is not, or may be.
type PublishError = driver.PublishError

// Outcome is the known state of a message after Publish.
type Outcome = driver.Outcome

// The outcomes of a message.
const (
	Published = driver.Published // it is in the topic
	Refused   = driver.Refused   // the transport refused it
	NotSent   = driver.NotSent   // it did not leave this process
	Unknown   = driver.Unknown   // it was sent without an answer: it may be in the topic
)
