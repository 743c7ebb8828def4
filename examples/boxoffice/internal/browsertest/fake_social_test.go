package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fakeSocial has the members' actions around shows.
type fakeSocial struct {
	comments map[string][]fakeComment // by show, the newest last
	likes    map[string]map[string]bool
	follows  map[string]map[string]bool // by follower
	views    map[string]int
	sales    map[string]int
	votes    map[string]*fakeVote
	n        int
	refuses  string // comments are refused with these words
}

type fakeComment struct {
	ID        string    `json:"id"`
	MemberID  string    `json:"memberId"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"createdAt"`
}

type fakeVote struct {
	closesAt time.Time
	ballots  map[string]string // by member
}

var encores = []string{"Lanterns on the Han", "Slow Train Home", "The Last Drum"}

func (s *fakeSocial) begin() {
	s.comments, s.likes, s.follows = map[string][]fakeComment{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	s.views, s.sales = map[string]int{"show-1": 1204}, map[string]int{"show-1": 159}
	s.votes = map[string]*fakeVote{"show-1": {closesAt: time.Now().Add(50 * time.Hour), ballots: map[string]string{"a": encores[0], "b": encores[0], "c": encores[1]}}}
	for i := range 27 {
		s.comment("show-1", fmt.Sprint("fan-", i), "Comment number "+strconv.Itoa(i), time.Now().Add(time.Duration(i-40)*time.Minute))
	}
	s.comment("show-1", "jun", "Row F is where the strings sound best.\nBring a scarf, the hall is cold.", time.Now().Add(-3*time.Minute))
}

func (s *fakeSocial) comment(show, member, text string, at time.Time) string {
	s.n++
	id := fmt.Sprintf("c%06d", s.n)
	s.comments[show] = append(s.comments[show], fakeComment{id, member, text, at})
	return id
}

func (s *fakeSocial) counts(show string) map[string]any {
	return map[string]any{"commentCount": len(s.comments[show]), "likeCount": len(s.likes[show]), "viewCount": s.views[show], "salesCount": s.sales[show]}
}

func (v *fakeVote) json(member string) map[string]any {
	counts := map[string]int{}
	for _, choice := range v.ballots {
		counts[choice]++
	}
	return map[string]any{
		"open": time.Now().Before(v.closesAt), "options": encores, "closesAt": v.closesAt, "closedAt": nil, "counts": counts, "choice": v.ballots[member],
	}
}

// flip puts a member into a set, or takes it out.
func flip(sets map[string]map[string]bool, name, member string, in bool) {
	if sets[name] == nil {
		sets[name] = map[string]bool{}
	}
	if in {
		sets[name][member] = true
	} else {
		delete(sets[name], member)
	}
}

type fakeHandle func(pattern string, fn func(*http.Request, string) (int, any), open bool)

func (f *fake) socialRoutes(handle fakeHandle) {
	s := &f.social
	like := func(r *http.Request, member string) (int, any) {
		if s.refuses != "" {
			return 409, fault{s.refuses, ""}
		}
		flip(s.likes, r.PathValue("id"), member, r.Method == http.MethodPost)
		return 204, nil
	}
	follow := func(r *http.Request, member string) (int, any) {
		flip(s.follows, member, r.PathValue("id"), r.Method == http.MethodPost)
		return 204, nil
	}
	handle("POST /api/shows/{id}/like", like, false)
	handle("DELETE /api/shows/{id}/like", like, false)
	handle("POST /api/members/{id}/follow", follow, false)
	handle("DELETE /api/members/{id}/follow", follow, false)
	handle("GET /api/me/likes", func(_ *http.Request, member string) (int, any) {
		liked := []string{}
		for show, members := range s.likes {
			if members[member] {
				liked = append(liked, show)
			}
		}
		return 200, map[string]any{"shows": liked}
	}, false)
	handle("GET /api/me/follows", func(_ *http.Request, member string) (int, any) {
		followed := []string{}
		for other := range s.follows[member] {
			followed = append(followed, other)
		}
		return 200, map[string]any{"members": followed}
	}, false)
	handle("POST /api/shows/{id}/view", func(r *http.Request, _ string) (int, any) {
		s.views[r.PathValue("id")]++
		return 202, struct{}{}
	}, true)
	f.commentRoutes(handle)
	handle("GET /api/shows/{id}/vote", func(r *http.Request, member string) (int, any) {
		vote := s.votes[r.PathValue("id")]
		if vote == nil {
			return 404, fault{"No vote", ""}
		}
		return 200, vote.json(member)
	}, true)
	handle("POST /api/shows/{id}/vote", func(r *http.Request, member string) (int, any) {
		vote := s.votes[r.PathValue("id")]
		var in struct{ Option string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || !slices.Contains(encores, in.Option) {
			return 400, fault{"No such option", ""}
		}
		if !time.Now().Before(vote.closesAt) {
			return 409, fault{"The vote is closed", ""}
		}
		vote.ballots[member] = in.Option
		return 204, nil
	}, false)
}

func (f *fake) commentRoutes(handle fakeHandle) {
	s := &f.social
	handle("GET /api/shows/{id}/comments", func(r *http.Request, _ string) (int, any) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		before := r.URL.Query().Get("before")
		page := []fakeComment{}
		for _, comment := range slices.Backward(s.comments[r.PathValue("id")]) {
			if (before == "" || comment.ID < before) && len(page) < limit {
				page = append(page, comment)
			}
		}
		return 200, map[string]any{"comments": page}
	}, true)
	handle("POST /api/shows/{id}/comments", func(r *http.Request, member string) (int, any) {
		var in struct{ Text string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || strings.TrimSpace(in.Text) == "" || s.refuses != "" {
			return 400, fault{s.refuses, ""}
		}
		return 201, map[string]any{"id": s.comment(r.PathValue("id"), member, in.Text, time.Now())}
	}, false)
	handle("DELETE /api/comments/{id}", func(r *http.Request, member string) (int, any) {
		for show, all := range s.comments {
			s.comments[show] = slices.DeleteFunc(all, func(c fakeComment) bool { return c.ID == r.PathValue("id") && c.MemberID == member })
		}
		return 204, nil
	}, false)
}
