package sse

import "github.com/millrace-go/millrace/sse/driver"

// Cut says whether the streams of a member were cut.
func (h *Hub) Cut(member string) bool {
	cut := true
	h.audience.each(driver.ToMember, member, func(s *stream) {
		s.mu.Lock()
		defer s.mu.Unlock()
		cut = cut && s.ended == endedSlow
	})
	return cut
}

// Backlog is the number of bytes pending for the clients of the hub.
func (h *Hub) Backlog() int {
	n := 0
	for _, s := range h.audience.all() {
		s.mu.Lock()
		for _, p := range s.pending {
			n += len(p)
		}
		s.mu.Unlock()
	}
	return n
}

// Encode writes an event as streams have it.
func Encode(e Event) ([]byte, error) { return encode(e.Name, e.ID, e.Data) }

// What the errors of streams and events wrap.
var (
	ErrCrowded     = errCrowded
	ErrDraining    = errDraining
	ErrInvalid     = errInvalid
	ErrUnflushable = errUnflushable
)
