package bus

import "github.com/millrace-go/millrace/bus/driver"

// PublishError is in the chain of every error of [Bus.Publisher]. For each message of the call
// it tells whether the message is in the topic, is not, or may be.
type PublishError = driver.PublishError
