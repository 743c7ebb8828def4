package dynamogate

import (
	"sync/atomic"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// clock is DynamoDB's clock, by the Date of its answers, in whole seconds.
type clock struct {
	ahead atomic.Int64 // of this process' clock, in ns
	fixed func() time.Time
}

// hear sets the clock by an answer.
func (c *clock) hear(answer middleware.Metadata) {
	server, told := awsmiddleware.GetServerTime(answer)
	at, known := awsmiddleware.GetResponseAt(answer)
	if told && known {
		c.ahead.Store(int64(server.Add(time.Second / 2).Sub(at)))
	}
}

// now is the time by the last answer.
func (c *clock) now() time.Time {
	if c.fixed != nil {
		return c.fixed()
	}
	return time.Now().Round(0).Add(time.Duration(c.ahead.Load()))
}

// blur is how far apart the clocks of two processes may be.
const blur = 5 * time.Second
