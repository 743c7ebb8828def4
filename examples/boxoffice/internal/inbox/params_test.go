package inbox_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
)

// The parameters of an event are in each place where its notification is read, on
// every page of recipients.
func TestParams(t *testing.T) {
	o := newOffice(t, inbox.Config{Page: 2})
	all := o.follow("ann", 5)
	e := notice(t, events.PostLiked, "ann", "show-1")
	o.handle(e)
	for more := true; more; {
		var err error
		if more, err = o.inbox.FanOut(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := events.NoticeParams{Member: "ann", Show: "show-1"}
	for _, member := range all {
		if list := o.list(member); len(list) != 1 || !reflect.DeepEqual(list[0].Params, want) || list[0].Message == "" {
			t.Errorf("%s has %+v", member, list)
		}
	}
	out := &wire{}
	o.inbox.SetSender(out)
	o.run()
	out.wait(t, len(all))
	out.mu.Lock()
	defer out.mu.Unlock()
	for _, e := range out.event {
		var data struct{ Params events.NoticeParams }
		if err := json.Unmarshal(e.Data, &data); err != nil || !reflect.DeepEqual(data.Params, want) {
			t.Errorf("%s was sent as %s, %v", e.ID, e.Data, err)
		}
	}
}

// During an upgrade the version before stores notifications and pages without
// parameters, and reads the rows of this one: the message is always there.
func TestTheVersionBefore(t *testing.T) {
	o := newOffice(t, inbox.Config{Page: 2})
	all := o.follow("ann", 3)
	o.Exec(t, `INSERT INTO notifications (notification_id, member_id, type, message, ref_id, created_at, position)
		VALUES ('e/bob', 'bob', 'FOLLOW', 'ann follows you', 'bob', 1, 1)`)
	o.Exec(t, `INSERT INTO notification_fanouts (event_id, type, message, ref_id, audience, audience_of, after_member)
		VALUES ('e2', 'POST_LIKE', 'ann likes x', 'show-1', 'FOLLOWERS', 'ann', '')`)
	for range 2 {
		_, err := o.inbox.FanOut(t.Context())
		require.NoError(t, err)
	}
	for member, message := range map[string]string{"bob": "ann follows you", all[0]: "ann likes x", all[2]: "ann likes x"} {
		if list := o.list(member); len(list) != 1 || list[0].Message != message || !reflect.DeepEqual(list[0].Params, events.NoticeParams{}) {
			t.Errorf("%s has %+v", member, list)
		}
	}
	o.handle(notice(t, events.MemberFollowed, "ann", "cleo"))
	if got := o.Query(t, `SELECT message FROM notifications WHERE member_id = 'cleo'`); got == "" {
		t.Error("the version before cannot read what this one has stored")
	}
	// Parameters that were damaged by hand are replaced by the message.
	for _, params := range []string{`{`, `[]`, `{"seats":"A-1"}`, ``} {
		o.Exec(t, `UPDATE notifications SET params = $1 WHERE member_id = 'bob'`, params)
		if list := o.list("bob"); len(list) != 1 || !reflect.DeepEqual(list[0].Params, events.NoticeParams{}) {
			t.Errorf("%q: %+v", params, list)
		}
	}
}
