package api

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
)

const (
	maxComment   = 1000 // characters
	commentsPage = 50
	maxPage      = 100
)

// socialRoutes are the members' actions around a show.
type socialRoutes struct {
	social *social.Social
	guard  *guard
}

func (s socialRoutes) mount(g *guard) {
	g.writes("POST /api/shows/{id}/like", act(s.social.Like))
	g.writes("DELETE /api/shows/{id}/like", act(s.social.Unlike))
	g.member("GET /api/me/likes", s.likes)

	g.public("GET /api/shows/{id}/comments", s.comments)
	g.writes("POST /api/shows/{id}/comments", s.comment)
	g.writes("DELETE /api/comments/{id}", act(s.social.DeleteComment))

	g.writes("POST /api/members/{id}/follow", act(s.social.Follow))
	g.writes("DELETE /api/members/{id}/follow", act(s.social.Unfollow))
	g.member("GET /api/me/follows", s.follows)

	g.public("GET /api/shows/{id}/vote", s.poll)
	g.writes("POST /api/shows/{id}/vote", s.vote)
	g.operator("POST /api/shows/{id}/vote/close", s.closeVote)

	g.public("POST /api/shows/{id}/view", g.bounded(s.view))
}

func (s socialRoutes) likes(w http.ResponseWriter, r *http.Request, member string) error {
	shows, err := s.social.Liked(r.Context(), member)
	return reply(w, http.StatusOK, map[string]any{"shows": shows}, err)
}

func (s socialRoutes) follows(w http.ResponseWriter, r *http.Request, member string) error {
	members, err := s.social.Follows(r.Context(), member)
	return reply(w, http.StatusOK, map[string]any{"members": members}, err)
}

type commentJSON struct {
	ID        string    `json:"id"`
	MemberID  string    `json:"memberId"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"createdAt"`
}

func presentComment(c social.Comment) commentJSON {
	return commentJSON{ID: c.ID, MemberID: c.MemberID, Text: c.Text, CreatedAt: c.CreatedAt}
}

// comments lists them newest first; before is the id of the last one of the page
// before.
func (s socialRoutes) comments(w http.ResponseWriter, r *http.Request) error {
	before := r.URL.Query().Get("before")
	if before != "" {
		if err := required("before", before); err != nil {
			return err
		}
	}
	limit, err := limitOf(r, commentsPage, maxPage)
	if err != nil {
		return err
	}
	all, err := s.social.Comments(r.Context(), r.PathValue("id"), before, limit)
	return reply(w, http.StatusOK, map[string]any{"comments": each(all, presentComment)}, err)
}

func (s socialRoutes) comment(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		Text string `json:"text"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	text := strings.TrimSpace(body.Text)
	if n := utf8.RuneCountInString(text); n == 0 || n > maxComment {
		return invalid("text", "text has %d characters; write 1 to %d", n, maxComment)
	}
	if strings.ContainsRune(text, 0) {
		return invalid("text", "text holds a character that is no text")
	}
	written, err := s.social.Comment(r.Context(), member, r.PathValue("id"), text)
	return reply(w, http.StatusCreated, presentComment(written), err)
}

type pollJSON struct {
	Open     bool             `json:"open"`
	Options  []string         `json:"options"`
	Counts   map[string]int64 `json:"counts"`
	Choice   string           `json:"choice"` // the member's own; "" for none
	ClosesAt time.Time        `json:"closesAt"`
	ClosedAt *time.Time       `json:"closedAt"` // null until the voters were notified
}

// poll reports the state of a vote, and a signed-in member's choice.
func (s socialRoutes) poll(w http.ResponseWriter, r *http.Request) error {
	member, err := s.guard.maybeMember(r)
	if err != nil {
		return err
	}
	p, err := s.social.Poll(r.Context(), member, r.PathValue("id"))
	if err != nil {
		return err
	}
	out := pollJSON{Open: p.Open, Counts: map[string]int64{}, Choice: p.Choice, ClosesAt: p.ClosesAt, ClosedAt: moment(p.ClosedAt)}
	for _, t := range p.Tally {
		out.Options = append(out.Options, t.Option)
		out.Counts[t.Option] = t.Votes
	}
	answer(w, http.StatusOK, out)
	return nil
}

func (s socialRoutes) vote(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		Option string `json:"option"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Option == "" {
		return invalid("option", `the field "option" is missing`)
	}
	return done(w, s.social.Vote(r.Context(), member, r.PathValue("id"), body.Option))
}

func (s socialRoutes) closeVote(w http.ResponseWriter, r *http.Request) error {
	return done(w, s.social.Close(r.Context(), r.PathValue("id")))
}

// view counts a visit, soon.
func (s socialRoutes) view(w http.ResponseWriter, r *http.Request) error {
	member, err := s.guard.maybeMember(r)
	if err != nil {
		return err
	}
	if err := s.social.View(r.Context(), member, r.PathValue("id")); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusAccepted)
	return nil
}
