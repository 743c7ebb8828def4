package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
)

// inboxOffice is an office whose members have an inbox.
type inboxOffice struct {
	*office
	inbox *inbox.Inbox
}

func newInboxOffice(t *testing.T) inboxOffice {
	t.Helper()
	var o inboxOffice
	o.office = newOffice(t, func(c *api.Config) {
		var err error
		if o.inbox, err = inbox.New(c.Store, inbox.Config{Holder: "test"}); err != nil {
			t.Fatal(err)
		}
		c.Inbox = o.inbox
	})
	return o
}

// notify notifies a member of n reservations and returns the ids.
func (o inboxOffice) notify(member string, n int) []string {
	o.t.Helper()
	handle := o.inbox.Consumers()[0].Handlers[events.ReservationNotice]
	ids := make([]string, n)
	for i := range ids {
		e, err := events.New(events.ReservationNotice, "notice", "r", member, true, events.Noticed{
			MemberID: member, RefID: fmt.Sprint("r-", i), Message: "Your seat is booked", At: time.Now(),
		})
		if err != nil {
			o.t.Fatal(err)
		}
		err = o.box.Store.Write(o.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := handle(ctx, tx, e)
			return err
		})
		if err != nil {
			o.t.Fatal(err)
		}
		ids[i] = e.ID + "/" + member
	}
	return ids
}

// A message is in the language of its reader; the parameters are the same for all.
func TestInboxLanguage(t *testing.T) {
	o := newInboxOffice(t)
	ann, _ := o.member("ann", "show-1")
	e, err := events.New(events.MemberFollowed, "notice", "ann", "mina", true, events.Noticed{
		MemberID: "mina", RefID: "ann", Params: events.NoticeParams{Member: "mina"}, Message: "mina follows you", At: time.Now(),
	})
	require.NoError(t, err)
	require.NoError(t, o.box.In(t, o.inbox.Consumers()[0].Handlers[e.Type], e))
	o.notify("ann", 1) // as the version before did, by its message alone
	for _, c := range []struct{ accept, cookie, query, lang, message string }{
		{"", "", "", "en", "mina follows you"},
		{"ko-KR,ko;q=0.9,en;q=0.8", "", "", "ko", "mina 님이 나를 팔로우해요"},
		{"en", "ko", "", "ko", "mina 님이 나를 팔로우해요"},
		{"ko", "", "?lang=en", "en", "mina follows you"},
		{"fr", "xx", "?lang=xx", "en", "mina follows you"},
	} {
		req := call{method: "GET", path: "/api/notifications" + c.query, token: ann, accept: c.accept}
		if c.cookie != "" {
			req.cookies = []*http.Cookie{{Name: "lang", Value: c.cookie}}
		}
		r := o.do(req)
		list := r.body["notifications"].([]any)
		old, first := list[0].(map[string]any), list[1].(map[string]any)
		if r.header.Get("Content-Language") != c.lang || first["message"] != c.message || fmt.Sprint(first["params"]) != "map[member:mina]" ||
			old["message"] != "Your seat is booked" || fmt.Sprint(old["params"]) != "map[]" {
			t.Errorf("%+v: %s %s", c, r.header.Get("Content-Language"), r.text)
		}
	}
}

func TestInbox(t *testing.T) {
	o := newInboxOffice(t)
	ann, _ := o.member("ann", "show-1")
	bob, _ := o.member("bob", "show-1")
	get := func(token, query string) reply {
		t.Helper()
		r := o.do(call{method: "GET", path: "/api/notifications" + query, token: token})
		require.Equalf(t, http.StatusOK, r.status, "%s: %d %s", query, r.status, r.text)
		return r
	}
	if r := get(ann, ""); len(r.body["notifications"].([]any)) != 0 || r.body["unreadCount"] != 0.0 || r.body["muted"] != false {
		t.Errorf("an empty inbox: %s", r.text)
	}
	mine, theirs := o.notify("ann", 60), o.notify("bob", 1)
	r := get(ann, "")
	list := r.body["notifications"].([]any)
	first := list[0].(map[string]any)
	if len(list) != 50 || r.body["unreadCount"] != 60.0 || first["id"] != mine[59] || first["type"] != "RESERVATION" ||
		first["message"] != "Your seat is booked" || first["refId"] != "r-59" || first["readAt"] != nil || len(first) != 7 {
		t.Errorf("%d of %v, the first %v", len(list), r.body["unreadCount"], first)
	}
	_, err := time.Parse(time.RFC3339, first["createdAt"].(string))
	assert.NoError(t, err)
	last := list[49].(map[string]any)["id"].(string)
	if r := get(ann, "?before="+url.QueryEscape(last)); len(r.body["notifications"].([]any)) != 10 {
		t.Errorf("the second page: %s", r.text)
	}

	// Escaped or not, once or again; and one's own only.
	read := func(token, path string) reply {
		t.Helper()
		return o.do(call{method: "POST", path: "/api/notifications/" + path + "/read", token: token})
	}
	for _, path := range []string{url.PathEscape(mine[58]), mine[58], mine[57]} {
		if r := read(ann, path); r.status != http.StatusNoContent || r.text != "" {
			t.Errorf("read %s: %d %s", path, r.status, r.text)
		}
	}
	r = get(ann, "?unread=true&limit=2")
	list = r.body["notifications"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["id"] != mine[59] || list[1].(map[string]any)["id"] != mine[56] || r.body["unreadCount"] != 58.0 {
		t.Errorf("unread: %s", r.text)
	}
	if at := get(ann, "?limit=2").body["notifications"].([]any)[1].(map[string]any)["readAt"]; at == nil {
		t.Error("one that was read has no time")
	}
	for _, path := range []string{url.PathEscape(theirs[0]), theirs[0], "nothing"} {
		if r := read(ann, path); r.status != http.StatusNotFound || r.body["type"] != "/problems/notification-not-found" {
			t.Errorf("read %s: %d %s", path, r.status, r.text)
		}
	}
	upTo := func(token, id string) reply {
		t.Helper()
		return o.do(call{method: "POST", path: "/api/notifications/read", token: token, body: map[string]any{"upTo": id}})
	}
	if r := upTo(ann, mine[56]); r.status != http.StatusNoContent || r.text != "" {
		t.Errorf("read up to the 57th: %d %s", r.status, r.text)
	}
	if r := get(ann, "?unread=true"); r.body["unreadCount"] != 1.0 || len(r.body["notifications"].([]any)) != 1 || r.body["notifications"].([]any)[0].(map[string]any)["id"] != mine[59] {
		t.Errorf("unread behind it: %s", r.text)
	}
	if r := upTo(ann, theirs[0]); r.status != http.StatusNotFound || r.body["type"] != "/problems/notification-not-found" {
		t.Errorf("read up to another's: %d %s", r.status, r.text)
	}
	if r := get(bob, ""); r.body["unreadCount"] != 1.0 {
		t.Errorf("bob: %s", r.text)
	}

	for _, muted := range []bool{true, true, false} {
		r := o.do(call{method: "PUT", path: "/api/notifications/settings", token: ann, body: map[string]any{"muted": muted}})
		if r.status != http.StatusOK || r.body["muted"] != muted || get(ann, "").body["muted"] != muted || get(bob, "").body["muted"] != false {
			t.Errorf("muted %v: %d %s", muted, r.status, r.text)
		}
	}
}

func TestInboxBadInput(t *testing.T) {
	o := newInboxOffice(t)
	ann, _ := o.member("ann", "show-1")
	settings := func(body any) call {
		return call{method: "PUT", path: "/api/notifications/settings", token: ann, body: body}
	}
	all := func(body string) call {
		return call{method: "POST", path: "/api/notifications/read", token: ann, body: body}
	}
	list := func(query string) call {
		return call{method: "GET", path: "/api/notifications" + query, token: ann}
	}
	for name, c := range map[string]struct {
		call
		status int
		holds  string
	}{
		"list: nobody":           {call{method: "GET", path: "/api/notifications"}, 401, "sign-in-required"},
		"read: nobody":           {call{method: "POST", path: "/api/notifications/x/read"}, 401, "sign-in-required"},
		"read all: nobody":       {call{method: "POST", path: "/api/notifications/read", body: `{"upTo":"x"}`}, 401, "sign-in-required"},
		"read all: no field":     {all(`{}`), 400, `"field":"upTo"`},
		"read all: no id":        {all(`{"upTo":""}`), 400, `"field":"upTo"`},
		"read all: a long id":    {all(`{"upTo":"` + strings.Repeat("x", 129) + `"}`), 400, `"field":"upTo"`},
		"settings: nobody":       {call{method: "PUT", path: "/api/notifications/settings", body: `{"muted":true}`}, 401, "sign-in-required"},
		"list: unread":           {list("?unread=1"), 400, `"field":"unread"`},
		"list: no limit":         {list("?limit=0"), 400, `"field":"limit"`},
		"list: a large limit":    {list("?limit=101"), 400, `"field":"limit"`},
		"list: an odd limit":     {list("?limit=ten"), 400, `"field":"limit"`},
		"list: a long before":    {list("?before=" + strings.Repeat("x", 129)), 400, `"field":"before"`},
		"read all: a NUL":        {all(`{"upTo":"x\u0000"}`), 400, `"field":"upTo"`},
		"settings: nothing":      {settings(``), 400, "empty"},
		"settings: no field":     {settings(`{}`), 400, `"field":"muted"`},
		"settings: text":         {settings(`{"muted":"yes"}`), 400, `"field":"muted"`},
		"settings: unknown":      {settings(`{"muted":true,"mute":true}`), 400, `"field":"mute"`},
		"settings: wrong method": {call{method: "POST", path: "/api/notifications/settings", token: ann}, 405, "PUT"},
	} {
		t.Run(name, func(t *testing.T) {
			r := o.do(c.call)
			if r.status != c.status || !strings.Contains(r.text, c.holds) || r.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%d %s", r.status, r.text)
			}
		})
	}
}
