package audit

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

const (
	// page is how much of a list is asked for at once.
	page = 100
	// countedWithin is how long shows may have an old count.
	countedWithin = 10 * time.Second
)

// arrive signs in and reads the shows.
func (v *visitor) arrive(ctx context.Context) ([]crowd.Show, error) {
	if err := v.signIn(ctx, "auditor"); err != nil {
		return nil, err
	}
	return v.shows(ctx)
}

// comments reads all of a show, newest first.
func (v *visitor) comments(ctx context.Context, show string) (all []crowd.Comment, err error) {
	for {
		query := url.Values{"limit": {fmt.Sprint(page)}}
		if len(all) > 0 {
			query.Set("before", all[len(all)-1].ID)
		}
		var some crowd.Comments
		call := crowd.Call{Method: http.MethodGet, Path: "/api/shows/" + url.PathEscape(show) + "/comments?" + query.Encode()}
		if _, err := v.do(ctx, call, &some); err != nil || len(some.Comments) == 0 {
			return all, err
		}
		all = append(all, some.Comments...)
	}
}

// room reads all messages of a room, in order.
func (v *visitor) room(ctx context.Context, room string) (all []crowd.Message, err error) {
	for after := int64(0); ; after = all[len(all)-1].Seq {
		var some crowd.Messages
		call := crowd.Call{Method: http.MethodGet, Path: fmt.Sprintf("/api/rooms/%s/messages?limit=%d&after=%d", url.PathEscape(room), page, after)}
		if _, err := v.do(ctx, call, &some); err != nil || len(some.Messages) == 0 {
			return all, err
		}
		if last := some.Messages[len(some.Messages)-1].Seq; last <= after {
			return all, fmt.Errorf("what comes after place %d ends at place %d", after, last)
		}
		all = append(all, some.Messages...)
	}
}

// counts compares the counts of the shows with the listed items. A show may have
// an old count for a moment.
func (o community) counts(ctx context.Context, v visitor, listed map[string]int64) {
	told := map[string]int64{}
	for since := time.Now(); ; {
		shows, err := v.shows(ctx)
		if err != nil {
			o.find.Fault(checkCounts, "the shows: %v", err)
			return
		}
		for _, show := range shows {
			told[show.ID] = show.CommentCount
		}
		if maps.Equal(told, listed) {
			return
		}
		if time.Since(since) > min(o.s.Patience, countedWithin) || crowd.Sleep(ctx, 100*time.Millisecond) != nil {
			break
		}
	}
	for show, n := range told {
		if n != listed[show] {
			o.find.Fault(checkCounts, "%s tells %d comments and lists %d", show, n, listed[show])
		}
	}
}
