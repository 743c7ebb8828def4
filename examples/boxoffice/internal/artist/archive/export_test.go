package archive

import (
	"time"

	"github.com/millrace-go/millrace/bus"
)

// Hurry has s ask again soon.
func (s *S3) Hurry() {
	s.pause = bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond}
}
