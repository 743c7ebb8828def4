package ratelimit

import "time"

// UseBy is when a permit expires, by this process's monotonic clock.
func UseBy(p *Permit) time.Time { return p.l.began.Add(p.useBy) }

// PriorityOf returns the priority of a permit.
func PriorityOf(p *Permit) Priority { return p.p }
