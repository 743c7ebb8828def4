package officetest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// community has the members' actions around the shows.
type community struct {
	known    map[string]bool // members that signed in
	comments map[string][]crowd.Comment
	likes    map[string][]string // shows by member
	follows  map[string][]string // members by member
	rooms    map[string][]crowd.Message
	joined   map[string][]string // members by room
	inboxes  map[string][]crowd.Notice
	feeds    map[string][]string // the events of a member's streams, by member
	news     chan struct{}       // closed when a feed has more
}

func newCommunity() community {
	return community{
		known: map[string]bool{}, comments: map[string][]crowd.Comment{}, likes: map[string][]string{}, follows: map[string][]string{},
		rooms: map[string][]crowd.Message{}, joined: map[string][]string{}, inboxes: map[string][]crowd.Notice{},
		feeds: map[string][]string{}, news: make(chan struct{}),
	}
}

func (o *Office) view(*http.Request) (int, any) { return 202, nil }

func (o *Office) like(r *http.Request) (int, any) {
	show, who := r.PathValue("id"), member(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	likes := o.community.likes
	switch {
	case r.Method == http.MethodDelete && o.fault != KeepLike:
		likes[who] = slices.DeleteFunc(likes[who], func(other string) bool { return other == show })
	case r.Method == http.MethodPost && o.fault != LoseLike && !slices.Contains(likes[who], show):
		likes[who] = append(likes[who], show)
	}
	return 204, nil
}

func (o *Office) likes(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return 200, crowd.Liked{Shows: slices.Clone(o.community.likes[member(r)])}
}

func (o *Office) follow(r *http.Request) (int, any) {
	other, who := r.PathValue("id"), member(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.community.known[other] {
		return problem(404, "nobody with this id has signed in yet")
	}
	if follows := o.community.follows; o.fault != LoseFollow && !slices.Contains(follows[who], other) {
		follows[who] = append(follows[who], other)
		o.notify(other, "FOLLOW", who, who+" follows you")
	}
	return 204, nil
}

func (o *Office) follows(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return 200, crowd.Followed{Members: slices.Clone(o.community.follows[member(r)])}
}

func (o *Office) comment(r *http.Request) (int, any) {
	var in struct{ Text string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	show := r.PathValue("id")
	o.mu.Lock()
	defer o.mu.Unlock()
	written := crowd.Comment{ID: "c-" + rand.Text(), MemberID: member(r), Text: in.Text}
	if o.fault == LoseComment {
		return 201, written
	}
	comments := o.community.comments
	comments[show] = slices.Insert(comments[show], 0, written)
	if o.strikes(DoubleComment) {
		again := written
		again.ID += "-again"
		comments[show] = slices.Insert(comments[show], 0, again)
	}
	return 201, written
}

func (o *Office) deleteComment(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for show, all := range o.community.comments {
		if o.fault != KeepComment {
			o.community.comments[show] = slices.DeleteFunc(all, func(c crowd.Comment) bool { return c.ID == r.PathValue("id") })
		}
	}
	return 204, nil
}

// few is how many comments and messages one answer has: fewer than there are.
const few = 3

func (o *Office) comments(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.community.comments[r.PathValue("id")]
	if before := r.URL.Query().Get("before"); before != "" {
		all = all[slices.IndexFunc(all, func(c crowd.Comment) bool { return c.ID == before })+1:]
	}
	return 200, crowd.Comments{Comments: slices.Clone(all[:min(few, len(all))])}
}

func (o *Office) join(r *http.Request) (int, any) {
	room, who := r.PathValue("id"), member(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	if joined := o.community.joined; !slices.Contains(joined[room], who) {
		joined[room] = append(joined[room], who)
	}
	return 204, nil
}

func (o *Office) say(r *http.Request) (int, any) {
	var in struct{ Text string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	room, who := r.PathValue("id"), member(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Contains(o.community.joined[room], who) {
		return problem(403, "join the room first")
	}
	m := crowd.Message{ID: "m-" + rand.Text(), SenderID: who, Message: in.Text}
	if !o.strikes(LoseMessage) {
		o.keep(room, m)
	}
	if o.strikes(DoubleMessage) {
		o.keep(room, m)
	}
	for _, other := range o.community.joined[room] {
		o.tell(other, fmt.Sprintf("event: chat\nid: ;chat=%s\ndata: {\"roomId\":%q}\n\n", m.ID, room))
	}
	return 202, crowd.Accepted{ID: m.ID}
}

// keep stores a message at the end of its room.
func (o *Office) keep(room string, m crowd.Message) {
	all := o.community.rooms[room]
	m.Seq = int64(len(all)) + 1
	o.community.rooms[room] = append(all, m)
}

func (o *Office) messages(r *http.Request) (int, any) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Clone(o.community.rooms[r.PathValue("id")])
	if o.fault == SwapMessages {
		slices.Reverse(all)
		for i := range all {
			all[i].Seq = int64(i) + 1
		}
	}
	all = all[min(after, len(all)):]
	return 200, crowd.Messages{Messages: all[:min(few, len(all))]}
}

// booked notifies the owner of a confirmed reservation.
func (o *Office) booked(res *reservation) {
	text := fmt.Sprintf("Your seats for %s are booked", res.EventID)
	if !o.strikes(LoseNotice) {
		o.notify(res.member, crowd.NoticeBooking, res.ReservationID, text)
	}
	if o.strikes(DoubleNotice) {
		o.notify(res.member, crowd.NoticeBooking, res.ReservationID, text)
	}
}

// notify puts a notification into an inbox, and sends it to the streams.
func (o *Office) notify(who, kind, ref, text string) {
	n := crowd.Notice{ID: rand.Text() + "/" + who, Type: kind, Message: text, RefID: ref}
	if kind == crowd.NoticeBooking {
		n.Params.Outcome = crowd.Booked // it tells of nothing else
	}
	o.community.inboxes[who] = slices.Insert(o.community.inboxes[who], 0, n)
	o.tellNotice(who, n)
}

func (o *Office) tellNotice(who string, n crowd.Notice) {
	data, _ := json.Marshal(n) //nolint:errchkjson // it is all text
	o.tell(who, fmt.Sprintf("event: notification\nid: %s\ndata: %s\n\n", n.ID, data))
}

// tell adds an event to the streams of a member.
func (o *Office) tell(who, event string) {
	o.community.feeds[who] = append(o.community.feeds[who], event)
	close(o.community.news)
	o.community.news = make(chan struct{})
}

func (o *Office) inbox(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.community.inboxes[member(r)]
	if before := r.URL.Query().Get("before"); before != "" {
		all = all[slices.IndexFunc(all, func(n crowd.Notice) bool { return n.ID == before })+1:]
	}
	return 200, crowd.Inbox{Notifications: slices.Clone(all[:min(few, len(all))])}
}
