package memsse

import (
	"time"

	"github.com/millrace-go/millrace/sse/driver"
)

// NewAt makes an empty cap with a clock.
func NewAt(now func() time.Time) driver.MemoryCap { return newCap(now) }
