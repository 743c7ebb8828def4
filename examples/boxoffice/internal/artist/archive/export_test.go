package archive

import (
	"time"

	"github.com/millrace-go/millrace/bus"
)

// Hurry shortens the pauses between the tries of s.
func (s *S3) Hurry() {
	s.pause = bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond}
}
