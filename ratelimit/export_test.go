package ratelimit

import (
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// UseBy is when a permit expires, by this process's monotonic clock.
func UseBy(p *Permit) time.Time { return p.l.began.Add(p.useBy) }

// PriorityOf returns the priority of a permit.
func PriorityOf(p *Permit) Priority { return p.p }

// Expired reports whether it is too late to use the permit.
func (p *Permit) Expired() bool { return p.expired() }

// Plan returns the plan of the limiter.
func (l *Limiter) Plan() driver.Plan { return *l.plan }

// What the errors of permits and calls wrap.
var (
	ErrPermitExpired = errPermitExpired
	ErrPermitUsed    = errPermitUsed
	ErrTooLarge      = errTooLarge
)
