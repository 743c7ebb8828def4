package queue

import (
	"log/slog"
	"time"
)

// Notice says that a user took a place, or that the user's turn has come.
type Notice struct {
	Event string
	User  string
	// Entry is the admission; zero in the notice of a turn.
	Entry Entry
	Time  time.Time // of the step, on the store's clock
}

func (r *Room) notifyAdmitted(event, user string, order int64, s State) {
	r.notify(r.cfg.Notify, Notice{
		Event: event, User: user, Time: s.Now,
		Entry: Entry{ID: entryID(s.Epoch, order), Left: r.cfg.Active},
	})
}

func (r *Room) notifyTurn(event, user string, s State) {
	r.notify(r.cfg.NotifyTurn, Notice{Event: event, User: user, Time: s.Now})
}

// notify never touches the step that it tells of.
func (r *Room) notify(tell func(Notice), n Notice) {
	if tell == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil && r.counts.panics.Add(1) == 1 {
			r.cfg.Logger.Error("queue: Config.Notify or NotifyTurn panicked; the notice is lost, the place or turn stands", slog.Any("panic", p))
		}
	}()
	tell(n)
}
