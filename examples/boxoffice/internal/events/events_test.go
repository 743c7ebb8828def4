package events_test

import (
	"context"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// TestCauses: later work, such as the refund of a late payment, is caused by the
// request or the event that asked for it.
func TestCauses(t *testing.T) {
	parent := event.Event{ID: "e-1", CorrelationID: "r-1"}
	for name, c := range map[string]struct {
		ctx                context.Context
		correlation, cause string
	}{
		"a timer":           {t.Context(), "", ""},
		"a request":         {event.WithCorrelation(t.Context(), "r-2"), "r-2", ""},
		"a handler":         {event.NewContext(t.Context(), parent), "r-1", "e-1"},
		"the longest":       {event.WithCorrelation(t.Context(), strings.Repeat("x", 128)), strings.Repeat("x", 128), ""},
		"more than a row":   {event.WithCorrelation(t.Context(), strings.Repeat("x", 129)), "", ""},
		"a foreign event":   {event.NewContext(t.Context(), event.Event{ID: strings.Repeat("x", 129), CorrelationID: "r-1"}), "", ""},
		"of no correlation": {event.NewContext(t.Context(), event.Event{ID: "e-1"}), "e-1", "e-1"},
	} {
		if correlation, cause := events.Causes(c.ctx); correlation != c.correlation || cause != c.cause {
			t.Errorf("%s: %q, caused by %q", name, correlation, cause)
		}
	}
}

// TestAbout: a comment's events are about the comment, its notice is about the show.
func TestAbout(t *testing.T) {
	for _, c := range []struct {
		typ, id     string
		data        any
		target, ref string
	}{
		{events.MemberFollowed, "bob", events.Noticed{MemberID: "ann", RefID: "bob"}, "bob", "bob"},
		{events.CommentCreated, "c-1", events.Noticed{MemberID: "ann", RefID: "show-1"}, "show-1", "c-1"},
		{events.ReservationNotice, "r-1", events.Noticed{MemberID: "ann", RefID: "r-1"}, "ann", "r-1"},
		{events.VoteClosed, "show-1", events.Noticed{RefID: "show-1"}, "show-1", "show-1"},
		{events.TransferCompleted, "t-1", events.Transferred{ToMemberID: "bob", ReservationID: "r-1"}, "bob", "r-1"},
	} {
		e, err := events.New(c.typ, "x", c.id, "ann", false, c.data)
		if err != nil || e.TargetID != c.target || e.RefID != c.ref {
			t.Errorf("%s: to %q about %q, %v", c.typ, e.TargetID, e.RefID, err)
		}
	}
}
