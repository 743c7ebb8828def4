package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/sse"
)

// fakeInbox has the members' notifications.
type fakeInbox struct {
	all   map[string][]*fakeNotice // by member, the newest last
	muted map[string]bool
	n     int

	readAll int // requests that read all
}

type fakeNotice struct {
	ID        string              `json:"id"`
	Type      string              `json:"type"`
	Params    events.NoticeParams `json:"params"` // none: the version before has stored it
	Message   string              `json:"message"`
	RefID     string              `json:"refId"`
	ReadAt    *time.Time          `json:"readAt"`
	CreatedAt time.Time           `json:"createdAt"`
}

// notify stores a notification and sends it to the member's streams.
func (f *fake) notify(member, typ, message, ref string) {
	f.mu.Lock()
	n := f.store(member, typ, message, ref, time.Now())
	f.mu.Unlock()
	f.streams.toMember(member, n)
}

// tell notifies by parameters, as an office of this version does.
func (f *fake) tell(member, typ string, p events.NoticeParams, ref string) {
	f.mu.Lock()
	n := f.store(member, typ, "in another language", ref, time.Now())
	n.Params = p
	f.mu.Unlock()
	f.streams.toMember(member, n)
}

// store only stores it, like an earlier notification. f.mu is held.
func (f *fake) store(member, typ, message, ref string, at time.Time) *fakeNotice {
	if f.inbox.all == nil {
		f.inbox.all, f.inbox.muted = map[string][]*fakeNotice{}, map[string]bool{}
	}
	f.inbox.n++
	n := &fakeNotice{ID: fmt.Sprintf("n%06d/%s", f.inbox.n, member), Type: typ, Message: message, RefID: ref, CreatedAt: at}
	f.inbox.all[member] = append(f.inbox.all[member], n)
	return n
}

func (f *fake) unread(member string) int {
	n := 0
	for _, notice := range f.inbox.all[member] {
		if notice.ReadAt == nil {
			n++
		}
	}
	return n
}

func (f *fake) inboxRoutes(handle fakeHandle) {
	handle("GET /api/notifications", func(r *http.Request, member string) (int, any) {
		query := r.URL.Query()
		limit, _ := strconv.Atoi(query.Get("limit"))
		before, unread := query.Get("before"), query.Get("unread") == "true"
		page := []*fakeNotice{}
		for _, n := range slices.Backward(f.inbox.all[member]) {
			if (before == "" || n.ID < before) && (!unread || n.ReadAt == nil) && len(page) < limit {
				page = append(page, n)
			}
		}
		return 200, map[string]any{"notifications": page, "unreadCount": f.unread(member), "muted": f.inbox.muted[member]}
	}, false)
	handle("POST /api/notifications/{id}/read", func(r *http.Request, member string) (int, any) {
		for _, n := range f.inbox.all[member] {
			if n.ID == r.PathValue("id") {
				now := time.Now()
				n.ReadAt = &now
				return 204, nil
			}
		}
		return 404, fault{"No such notification", ""}
	}, false)
	handle("POST /api/notifications/read", func(r *http.Request, member string) (int, any) {
		var in struct{ UpTo string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.UpTo == "" {
			return 400, fault{"No id", ""}
		}
		f.inbox.readAll++
		now := time.Now()
		for _, n := range f.inbox.all[member] {
			if n.ID <= in.UpTo && n.ReadAt == nil {
				n.ReadAt = &now
			}
		}
		return 204, nil
	}, false)
	handle("PUT /api/notifications/settings", func(r *http.Request, member string) (int, any) {
		var in struct{ Muted bool }
		if json.NewDecoder(r.Body).Decode(&in) != nil {
			return 400, fault{"Not JSON", ""}
		}
		f.inbox.muted[member] = in.Muted
		return 204, nil
	}, false)
}

// replay has the first events of a stream: the newest unread.
func (f *fake) replay(member string) sse.Replayer {
	return func(_ context.Context, since sse.Cursors) (sse.Missed, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var events []sse.Event
		for _, n := range f.inbox.all[member] {
			if n.ReadAt == nil && n.ID > since["notification"] {
				events = append(events, n.event())
			}
		}
		over := max(0, len(events)-10)
		return sse.Missed{Events: events[over:], Left: map[string]int{"notification": over}}, nil
	}
}

func (n *fakeNotice) event() sse.Event {
	body, _ := json.Marshal(map[string]any{"id": n.ID, "type": n.Type, "params": n.Params, "message": n.Message, "refId": n.RefID}) // strings always marshal
	return sse.Event{Name: "notification", ID: n.ID, Data: body}
}
