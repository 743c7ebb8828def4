package crowd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// guest is a fan with its share, beside its plan. One goroutine owns it.
type guest struct {
	fan    *fan
	share  Share
	chance *rand.Rand
	told   *Community
}

func (g *guest) call(ctx context.Context, call Call, into any) (int, error) {
	call.Token = g.fan.rec.Token
	return g.fan.client.Do(ctx, call, into)
}

// mingle does the fan's share. Idempotent requests are repeated when an answer is
// lost; a comment and a message are not, since each request makes another one.
func (g *guest) mingle(ctx context.Context) error {
	show, err := g.choose(ctx)
	if show == "" || err != nil {
		return err
	}
	for _, act := range []struct {
		wanted bool
		do     func(context.Context, string) error
	}{
		{g.share.View, g.view}, {g.share.Follow > 0, g.follow}, {g.share.Like, g.like}, {g.share.Comment, g.comment}, {g.share.Say > 0, g.chat},
	} {
		if !act.wanted {
			continue
		}
		// The fans do not all act at the moment when the sale begins.
		if err := think(ctx, g.chance, 3*g.fan.crowd.cfg.Think); err != nil {
			return err
		}
		if err := act.do(ctx, show); err != nil {
			return err
		}
	}
	return nil
}

// choose finds the show that the share is about; "" when there is none.
func (g *guest) choose(ctx context.Context) (string, error) {
	if s := g.share; !s.View && !s.Like && !s.Comment && s.Say+s.Follow == 0 {
		return "", nil
	}
	var shows []Show
	if _, err := g.call(ctx, Call{Step: "shows", Method: http.MethodGet, Path: "/api/shows"}, &shows); err != nil || len(shows) == 0 {
		return "", err
	}
	slices.SortFunc(shows, func(a, b Show) int { return strings.Compare(a.ID, b.ID) })
	return shows[g.share.Show%len(shows)].ID, nil
}

func (g *guest) view(ctx context.Context, show string) error {
	_, err := g.call(ctx, Call{Step: "view", Method: http.MethodPost, Path: "/api/shows/" + url.PathEscape(show) + "/view"}, nil)
	return err
}

func (g *guest) like(ctx context.Context, show string) error {
	g.told.Like = &Like{Show: show}
	call := Call{Step: "like", Method: http.MethodPost, Path: "/api/shows/" + url.PathEscape(show) + "/like"}
	if _, err := g.call(ctx, call, nil); err != nil {
		return err
	}
	if g.share.Unlike {
		call.Step, call.Method = "unlike", http.MethodDelete
		if _, err := g.call(ctx, call, nil); err != nil {
			return err
		}
	}
	g.told.Like.Told, g.told.Like.Likes = true, !g.share.Unlike
	return nil
}

// follow follows an earlier fan. A fan that has not signed in yet is unknown.
func (g *guest) follow(ctx context.Context, _ string) error {
	other := g.fan.crowd.member(g.fan.index - g.share.Follow)
	code, err := g.call(ctx, Call{Step: "follow", Method: http.MethodPost, Path: "/api/members/" + url.PathEscape(other) + "/follow",
		Accept: []int{http.StatusNotFound}}, nil)
	if err == nil && code != http.StatusNotFound {
		g.told.Follows = other
	}
	return err
}

func (g *guest) comment(ctx context.Context, show string) error {
	said := &Said{Place: show, Text: fmt.Sprintf("%s cannot wait", g.fan.rec.Member)}
	g.told.Comment = said
	var written Comment
	call := Call{Step: "comment", Method: http.MethodPost, Path: "/api/shows/" + url.PathEscape(show) + "/comments",
		Once: true, Sent: &said.Sent, Body: map[string]string{"text": said.Text}}
	if _, err := g.call(ctx, call, &written); err != nil {
		return unlessLost(err)
	}
	if said.ID = written.ID; said.ID == "" || written.Text != said.Text || written.MemberID != g.fan.rec.Member {
		return fmt.Errorf("the comment %q was answered with %+v", said.Text, written)
	}
	g.fan.crowd.meter.Count(countComment)
	if !g.share.Delete {
		return nil
	}
	said.Deleting = true
	if _, err := g.call(ctx, Call{Step: "delete comment", Method: http.MethodDelete, Path: "/api/comments/" + url.PathEscape(said.ID)}, nil); err != nil {
		return err
	}
	said.Deleted = true
	return nil
}

// chat sends messages to the show's room, each after the answer to the last.
func (g *guest) chat(ctx context.Context, show string) error {
	room := "/api/rooms/" + url.PathEscape(show)
	if _, err := g.call(ctx, Call{Step: "join room", Method: http.MethodPost, Path: room + "/join"}, nil); err != nil {
		return err
	}
	for n := range g.share.Say {
		said := &Said{Place: show, Text: fmt.Sprintf("%s says %d", g.fan.rec.Member, n+1)}
		g.told.Messages = append(g.told.Messages, said)
		var accepted Accepted
		call := Call{Step: "chat message", Method: http.MethodPost, Path: room + "/messages",
			Once: true, Sent: &said.Sent, Body: map[string]string{"text": said.Text}}
		code, err := g.call(ctx, call, &accepted)
		if errors.Is(err, errLost) {
			continue
		}
		if err != nil {
			return err
		}
		if said.ID = accepted.ID; code != http.StatusAccepted || said.ID == "" {
			return fmt.Errorf("the message %q was answered with %d %+v, not 202 and its id", said.Text, code, accepted)
		}
		g.fan.crowd.meter.Count(countMessage)
	}
	return nil
}

// unlessLost ignores a lost answer: the outcome is unknown.
func unlessLost(err error) error {
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// readInbox is the fan's last action.
func (f *fan) readInbox(ctx context.Context) error {
	var box Inbox
	_, err := f.client.Do(ctx, Call{Step: "inbox", Method: http.MethodGet, Path: "/api/notifications", Token: f.rec.Token}, &box)
	for _, n := range box.Notifications {
		f.rec.Community.Read = append(f.rec.Community.Read, n.ID)
	}
	return err
}
