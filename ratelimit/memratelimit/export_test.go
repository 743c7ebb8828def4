package memratelimit

import (
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// NewAt returns an empty store with a clock.
func NewAt(now func() time.Time) driver.Store { return &store{now: now} }
