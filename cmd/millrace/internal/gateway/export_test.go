package gateway

import "time"

// SaveAt makes the gate save at these ticks; call it before Run.
func (v *Server) SaveAt(ticks <-chan time.Time) {
	v.ticks = func() (<-chan time.Time, func()) { return ticks, func() {} }
}
