package bus

import "github.com/millrace-go/millrace/bus/driver"

// PublishError is in the chain of every error of [Bus.Publisher]: it says of each message
// of the call whether it is in the topic, is not, or may be.
type PublishError = driver.PublishError

// Outcome is what is known of a message after Publish.
type Outcome = driver.Outcome

// The outcomes of a message.
const (
	Published = driver.Published // it is in the topic
	Refused   = driver.Refused   // the transport would not take it
	NotSent   = driver.NotSent   // it never left this process
	Unknown   = driver.Unknown   // it was sent and no answer came: it may be in the topic
)
