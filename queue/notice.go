package queue

import (
	"log/slog"
	"time"
)

// Notice says that a user was admitted.
type Notice struct {
	Event string
	User  string
	// Entry is the admission. Its Left is how long the place lasts: from now for a
	// direct entry, else from the user's first poll, within Config.NoShow.
	Entry Entry
	Time  time.Time // of the admission, on the store's clock
}

// notify tells of one admission. Its failure never touches the admission.
func (r *Room) notify(event, user string, order int64, s State) {
	if r.cfg.Notify == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil && r.panics.Add(1) == 1 {
			r.cfg.Logger.Error("queue: Config.Notify panicked; the notice is lost, the admission stands", slog.Any("panic", p))
		}
	}()
	r.cfg.Notify(Notice{
		Event: event, User: user, Time: s.Now,
		Entry: Entry{ID: entryID(s.Epoch, order), Left: r.cfg.Active},
	})
}
