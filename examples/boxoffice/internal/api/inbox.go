package api

import (
	"errors"
	"net/http"
	"strconv"
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
	out := notificationJSON{
		ID: n.ID, Type: n.Type, Params: n.Params, Message: notices.Text(lang, n.Type, n.Params, n.Message), RefID: n.RefID, CreatedAt: n.CreatedAt,
	}
	if !n.ReadAt.IsZero() {
		out.ReadAt = &n.ReadAt
	}
	return out
}

// inboxRoutes are the routes of the notifications, except their stream. An id has a
// slash: escaped it is one segment; unescaped, as after a proxy, it is two.
func (a *API) inboxRoutes(member, writes func(pattern string, h memberHandler)) {
	member("GET /api/notifications", a.notifications)
	writes("POST /api/notifications/{id}/read", a.readNotification)
	writes("POST /api/notifications/{event}/{member}/read", a.readNotification)
	writes("POST /api/notifications/read", a.readNotifications)
	writes("PUT /api/notifications/settings", a.notificationSettings)
}

// notifications lists the member's inbox, newest first; ?unread=true, ?limit=N, 50 by
// default, and ?before= with the last id of the page before. The messages are in the
// language of the site's pages: ?lang=, the reader's choice, or Accept-Language.
func (a *API) notifications(w http.ResponseWriter, r *http.Request, member string) error {
	unread, err := flag(r, "unread")
	if err != nil {
		return err
	}
	q := inbox.Query{Unread: unread, Before: r.URL.Query().Get("before"), Limit: pageOfNotifications}
	if len(q.Before) > maxNotificationID {
		return invalid("before", "before must be the id of a notification")
	}
	if text := r.URL.Query().Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > maxNotifications {
			return invalid("limit", "limit must be a whole number from 1 to %d", maxNotifications)
		}
	}
	list, err := a.cfg.Inbox.List(r.Context(), member, q)
	if err != nil {
		return err
	}
	count, err := a.cfg.Inbox.UnreadCount(r.Context(), member)
	if err != nil {
		return err
	}
	muted, err := a.cfg.Inbox.Muted(r.Context(), member)
	if err != nil {
		return err
	}
	lang := locales.Negotiate(r)
	out := make([]notificationJSON, len(list))
	for i, n := range list {
		out[i] = presentNotification(n, lang)
	}
	w.Header().Set("Content-Language", lang)
	answer(w, http.StatusOK, map[string]any{"notifications": out, "unreadCount": count, "muted": muted})
	return nil
}

func (a *API) readNotification(w http.ResponseWriter, r *http.Request, member string) error {
	id := r.PathValue("id")
	if id == "" {
		id = r.PathValue("event") + "/" + r.PathValue("member")
	}
	return readAnswer(w, a.cfg.Inbox.Read(r.Context(), member, id))
}

// readNotifications marks all as read up to the newest that the member has seen.
func (a *API) readNotifications(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		UpTo *string `json:"upTo"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.UpTo == nil {
		return invalid("upTo", `the field "upTo" is missing`)
	}
	if *body.UpTo == "" || len(*body.UpTo) > maxNotificationID {
		return invalid("upTo", "upTo must be the id of a notification")
	}
	return readAnswer(w, a.cfg.Inbox.ReadUpTo(r.Context(), member, *body.UpTo))
}

func readAnswer(w http.ResponseWriter, err error) error {
	if errors.Is(err, inbox.ErrNotFound) {
		return newProblem(http.StatusNotFound, "notification-not-found", "No such notification", "you have no notification with this id")
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) notificationSettings(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		Muted *bool `json:"muted"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Muted == nil {
		return invalid("muted", `the field "muted" is missing`)
	}
	if err := a.cfg.Inbox.Mute(r.Context(), member, *body.Muted); err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]bool{"muted": *body.Muted})
	return nil
}
