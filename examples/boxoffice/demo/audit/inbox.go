package audit

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// announceInboxes announces the checks of the fans' own lists with their numbers.
func (a *audit) announceInboxes() {
	likes, follows, bookings, streams, live := 0, 0, 0, 0, 0
	for _, rec := range a.records {
		if rec.Community.Like != nil {
			likes++
		}
		if rec.Community.Follows != "" {
			follows++
		}
		bookings += len(rec.Reservations)
		streams += rec.Stream.Opened
		live += len(rec.Stream.Notices)
	}
	a.find.Announce(checkLikes, "%d fans liked a show, %d follow another", likes, follows)
	a.find.Announce(checkNotices, "%d reservations", bookings)
	a.find.Announce(checkStreams, "%d streams", streams)
	a.find.Announce(checkKept, "%d notifications and %d chat messages came live", live, len(a.s.Crowd.Alerts()))
}

// askCommunity reads, as a fan, the fan's likes, follows and inbox.
func (a *audit) askCommunity(ctx context.Context, rec *crowd.Record) {
	get := func(check, path string, into any) bool {
		_, err := a.s.Office.Client.Do(ctx, crowd.Call{Method: http.MethodGet, Path: path, Token: rec.Token}, into)
		if err != nil {
			a.find.Fault(check, "GET %s as %s: %v", path, rec.Member, err)
		}
		return err == nil
	}
	if like := rec.Community.Like; like != nil && like.Told {
		var is crowd.Liked
		if get(checkLikes, "/api/me/likes", &is) && slices.Contains(is.Shows, like.Show) != like.Likes {
			a.find.Fault(checkLikes, "%s likes %s: %t, and was told %t", rec.Member, like.Show, !like.Likes, like.Likes)
		}
	}
	if other := rec.Community.Follows; other != "" {
		var is crowd.Followed
		if get(checkLikes, "/api/me/follows", &is) && !slices.Contains(is.Members, other) {
			a.find.Fault(checkLikes, "%s does not follow %s, and was told so", rec.Member, other)
		}
	}
	for _, twice := range rec.Stream.Twice {
		a.find.Fault(checkStreams, "%s came twice on one stream of %s", twice, rec.Member)
	}
	box, err := a.readInbox(ctx, rec)
	if err != nil {
		a.find.Fault(checkNotices, "the inbox of %s: %v", rec.Member, err)
		return
	}
	a.judgeInbox(rec, box)
}

// readInbox reads all of a fan's inbox.
func (a *audit) readInbox(ctx context.Context, rec *crowd.Record) (all []crowd.Notice, err error) {
	for {
		query := url.Values{"limit": {fmt.Sprint(page)}}
		if len(all) > 0 {
			query.Set("before", all[len(all)-1].ID)
		}
		var some crowd.Inbox
		call := crowd.Call{Method: http.MethodGet, Path: "/api/notifications?" + query.Encode(), Token: rec.Token}
		if _, err := a.s.Office.Client.Do(ctx, call, &some); err != nil || len(some.Notifications) == 0 {
			return all, err
		}
		all = append(all, some.Notifications...)
	}
}

// judgeInbox wants one notice of each booking, and all that the fan's stream had.
func (a *audit) judgeInbox(rec *crowd.Record, box []crowd.Notice) {
	ids, booked := map[string]int{}, map[string]int{}
	for _, n := range box {
		if ids[n.ID]++; ids[n.ID] == 2 {
			a.find.Fault(checkNotices, "%s is in the inbox of %s twice", n.ID, rec.Member)
		}
		if n.Type == crowd.NoticeBooking && n.Params.Outcome == crowd.Booked {
			booked[n.RefID]++
		}
	}
	for _, told := range rec.Reservations {
		a.mu.Lock()
		confirmed := a.tickets[told.ID].Status == crowd.Confirmed
		a.mu.Unlock()
		confirmed = confirmed || slices.ContainsFunc(rec.Payments, func(p *crowd.Payment) bool {
			return p.Type == "reservation" && p.Subject == told.ID && p.Confirmed
		})
		switch n := booked[told.ID]; {
		case confirmed && n != 1:
			a.find.Fault(checkNotices, "the confirmed reservation %s is %d times in the inbox of %s", told.ID, n, rec.Member)
		case n > 1:
			a.find.Fault(checkNotices, "the booking of reservation %s is %d times in the inbox of %s", told.ID, n, rec.Member)
		}
	}
	for where, shown := range map[string][]string{"on a stream": rec.Stream.Notices, "in the inbox": rec.Community.Read} {
		for _, id := range shown {
			if ids[id] == 0 {
				a.find.Fault(checkKept, "%s had %s %s, and it is not in the inbox", rec.Member, id, where)
			}
		}
	}
}
