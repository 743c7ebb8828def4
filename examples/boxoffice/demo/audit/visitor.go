package audit

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// visitor looks at the seats as a fan does, through the waiting room.
type visitor struct {
	client *crowd.Client
	token  string
}

func (v *visitor) do(ctx context.Context, call crowd.Call, into any) (int, error) {
	call.Token = v.token
	return v.client.Do(ctx, call, into)
}

func (v *visitor) signIn(ctx context.Context, member string) error {
	var login crowd.Login
	_, err := v.do(ctx, crowd.Call{Method: http.MethodPost, Path: "/api/login", Body: map[string]string{"memberId": member}}, &login)
	v.token = login.Token
	return err
}

func (v *visitor) shows(ctx context.Context) (shows []crowd.Show, err error) {
	_, err = v.do(ctx, crowd.Call{Method: http.MethodGet, Path: "/api/shows"}, &shows)
	return shows, err
}

// plan reads a show's seats; nil when the show is sold out, and admits nobody.
func (v *visitor) plan(ctx context.Context, show crowd.Show) ([]crowd.Seat, error) {
	at := func(does string) string { return "/api/queue/" + does + "/" + url.PathEscape(show.ID) }
	var place crowd.Place
	for since := time.Now(); place.Status != "active"; {
		code, err := v.do(ctx, crowd.Call{Method: http.MethodPost, Path: at("check"), Ticket: place.Ticket, Accept: []int{http.StatusGone}}, &place)
		if err != nil {
			return nil, err
		}
		if code == http.StatusGone {
			return nil, nil
		}
		if place.Status == "active" {
			break
		}
		if time.Since(since) > v.client.Patience {
			return nil, fmt.Errorf("the waiting room of %s let nobody in for %v", show.ID, v.client.Patience)
		}
		if err := crowd.Sleep(ctx, max(50*time.Millisecond, time.Duration(place.NextPoll*float64(time.Second)))); err != nil {
			return nil, err
		}
	}
	var plan crowd.Seats
	if _, err := v.do(ctx, crowd.Call{Method: http.MethodGet, Path: "/api/seats/" + url.PathEscape(show.ID), Entry: place.EntryToken}, &plan); err != nil {
		return nil, err
	}
	_, err := v.do(ctx, crowd.Call{Method: http.MethodPost, Path: at("leave")}, nil)
	return plan.Seats, err
}
