package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

const (
	pageOfNotifications = 50
	maxNotifications    = 100
	maxNotificationID   = 128
)

type notificationJSON struct {
	ID        string              `json:"id"`
	Type      string              `json:"type"`
	Params    events.NoticeParams `json:"params"`
	Message   string              `json:"message"` // in the language of the request
	RefID     string              `json:"refId"`
	ReadAt    *time.Time          `json:"readAt"` // null while it is unread
	CreatedAt time.Time           `json:"createdAt"`
}

func presentNotification(n inbox.Notification, lang string) notificationJSON {
	return notificationJSON{
		ID: n.ID, Type: n.Type, Params: n.Params, Message: notices.Text(lang, n.Type, n.Params, n.Message), RefID: n.RefID,
		ReadAt: moment(n.ReadAt), CreatedAt: n.CreatedAt,
	}
}

// inboxRoutes are the routes of the notifications, except their stream. An id has a
// slash: escaped it is one segment; unescaped, as after a proxy, it is two.
type inboxRoutes struct{ inbox *inbox.Inbox }

func (i inboxRoutes) mount(g *guard) {
	g.member("GET /api/notifications", i.notifications)
	g.writes("POST /api/notifications/{id}/read", i.read)
	g.writes("POST /api/notifications/{event}/{member}/read", i.read)
	g.writes("POST /api/notifications/read", i.readUpTo)
	g.writes("PUT /api/notifications/settings", i.settings)
}

// notifications lists the member's inbox, newest first; ?unread=true, ?limit=N, 50 by
// default, and ?before= with the last id of the page before. The messages are in the
// language of the site's pages: ?lang=, the reader's choice, or Accept-Language.
func (i inboxRoutes) notifications(w http.ResponseWriter, r *http.Request, member string) error {
	unread, err := flag(r, "unread")
	if err != nil {
		return err
	}
	q := inbox.Query{Unread: unread, Before: r.URL.Query().Get("before")}
	if len(q.Before) > maxNotificationID {
		return invalid("before", "before must be the id of a notification")
	}
	if q.Limit, err = limitOf(r, pageOfNotifications, maxNotifications); err != nil {
		return err
	}
	list, err := i.inbox.List(r.Context(), member, q)
	if err != nil {
		return err
	}
	count, err := i.inbox.UnreadCount(r.Context(), member)
	if err != nil {
		return err
	}
	muted, err := i.inbox.Muted(r.Context(), member)
	if err != nil {
		return err
	}
	lang := locales.Negotiate(r)
	out := each(list, func(n inbox.Notification) notificationJSON { return presentNotification(n, lang) })
	w.Header().Set("Content-Language", lang)
	answer(w, http.StatusOK, map[string]any{"notifications": out, "unreadCount": count, "muted": muted})
	return nil
}

func (i inboxRoutes) read(w http.ResponseWriter, r *http.Request, member string) error {
	id := r.PathValue("id")
	if id == "" {
		id = r.PathValue("event") + "/" + r.PathValue("member")
	}
	return done(w, i.inbox.Read(r.Context(), member, id))
}

// readUpTo marks all as read up to the newest that the member has seen.
func (i inboxRoutes) readUpTo(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		UpTo *string `json:"upTo"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.UpTo == nil {
		return invalid("upTo", `the field "upTo" is missing`)
	}
	if *body.UpTo == "" || len(*body.UpTo) > maxNotificationID || strings.ContainsRune(*body.UpTo, 0) {
		return invalid("upTo", "upTo must be the id of a notification")
	}
	return done(w, i.inbox.ReadUpTo(r.Context(), member, *body.UpTo))
}

func (i inboxRoutes) settings(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		Muted *bool `json:"muted"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Muted == nil {
		return invalid("muted", `the field "muted" is missing`)
	}
	err := i.inbox.Mute(r.Context(), member, *body.Muted)
	return reply(w, http.StatusOK, map[string]bool{"muted": *body.Muted}, err)
}
