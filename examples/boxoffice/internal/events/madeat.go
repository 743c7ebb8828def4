package events

import (
	"time"

	"github.com/google/uuid"
)

// MadeAt reads from an event's id when the event was made, which is in the transaction
// that it belongs to, right before its commit, by the clock of that process. It reports
// false for an id that is not ours.
func MadeAt(id string) (time.Time, bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	sec, nsec := u.Time().UnixTime()
	return time.Unix(sec, nsec).UTC(), true
}
