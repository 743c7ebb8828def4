package dynamogate

import (
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Clocked makes the store take the time from now instead of DynamoDB's answers.
func Clocked(s driver.TableStore, now func() time.Time) { s.(*store).clock.fixed = now }

// Blur is how far apart the clocks of two processes may be.
const Blur = blur

// Classify is the class of an error.
var Classify = classify
