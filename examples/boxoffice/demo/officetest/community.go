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
	*trouble
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

func newCommunity(t *trouble) *community {
	return &community{
		trouble: t,
		known:   map[string]bool{}, comments: map[string][]crowd.Comment{}, likes: map[string][]string{}, follows: map[string][]string{},
		rooms: map[string][]crowd.Message{}, joined: map[string][]string{}, inboxes: map[string][]crowd.Notice{},
		feeds: map[string][]string{}, news: make(chan struct{}),
	}
}

func (c *community) login(r *http.Request) (int, any) {
	var in struct{ MemberID string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	c.known[in.MemberID] = true
	return 200, crowd.Login{Token: "member:" + in.MemberID}
}

func (c *community) view(*http.Request) (int, any) { return 202, nil }

func (c *community) like(r *http.Request) (int, any) {
	show, who := r.PathValue("id"), member(r)
	likes := c.likes
	switch {
	case r.Method == http.MethodDelete && c.fault != KeepLike:
		likes[who] = slices.DeleteFunc(likes[who], func(other string) bool { return other == show })
	case r.Method == http.MethodPost && c.fault != LoseLike && !slices.Contains(likes[who], show):
		likes[who] = append(likes[who], show)
	}
	return 204, nil
}

func (c *community) listLikes(r *http.Request) (int, any) {
	return 200, crowd.Liked{Shows: slices.Clone(c.likes[member(r)])}
}

func (c *community) follow(r *http.Request) (int, any) {
	other, who := r.PathValue("id"), member(r)
	if !c.known[other] {
		return problem(404, "nobody with this id has signed in yet")
	}
	if follows := c.follows; c.fault != LoseFollow && !slices.Contains(follows[who], other) {
		follows[who] = append(follows[who], other)
		c.notify(other, "FOLLOW", who, who+" follows you")
	}
	return 204, nil
}

func (c *community) listFollows(r *http.Request) (int, any) {
	return 200, crowd.Followed{Members: slices.Clone(c.follows[member(r)])}
}

func (c *community) comment(r *http.Request) (int, any) {
	var in struct{ Text string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	show := r.PathValue("id")
	written := crowd.Comment{ID: "c-" + rand.Text(), MemberID: member(r), Text: in.Text}
	if c.fault == LoseComment {
		return 201, written
	}
	comments := c.comments
	comments[show] = slices.Insert(comments[show], 0, written)
	if c.strikes(DoubleComment) {
		again := written
		again.ID += "-again"
		comments[show] = slices.Insert(comments[show], 0, again)
	}
	return 201, written
}

func (c *community) deleteComment(r *http.Request) (int, any) {
	for show, all := range c.comments {
		if c.fault != KeepComment {
			c.comments[show] = slices.DeleteFunc(all, func(one crowd.Comment) bool { return one.ID == r.PathValue("id") })
		}
	}
	return 204, nil
}

// few is how many comments and messages one answer has: fewer than there are.
const few = 3

func (c *community) listComments(r *http.Request) (int, any) {
	all := c.comments[r.PathValue("id")]
	if before := r.URL.Query().Get("before"); before != "" {
		all = all[slices.IndexFunc(all, func(one crowd.Comment) bool { return one.ID == before })+1:]
	}
	return 200, crowd.Comments{Comments: slices.Clone(all[:min(few, len(all))])}
}

func (c *community) join(r *http.Request) (int, any) {
	room, who := r.PathValue("id"), member(r)
	if joined := c.joined; !slices.Contains(joined[room], who) {
		joined[room] = append(joined[room], who)
	}
	return 204, nil
}

func (c *community) say(r *http.Request) (int, any) {
	var in struct{ Text string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	room, who := r.PathValue("id"), member(r)
	if !slices.Contains(c.joined[room], who) {
		return problem(403, "join the room first")
	}
	m := crowd.Message{ID: "m-" + rand.Text(), SenderID: who, Message: in.Text}
	if !c.strikes(LoseMessage) {
		c.keep(room, m)
	}
	if c.strikes(DoubleMessage) {
		c.keep(room, m)
	}
	for _, other := range c.joined[room] {
		c.tell(other, fmt.Sprintf("event: chat\nid: ;chat=%s\ndata: {\"roomId\":%q}\n\n", m.ID, room))
	}
	return 202, crowd.Accepted{ID: m.ID}
}

// keep stores a message at the end of its room.
func (c *community) keep(room string, m crowd.Message) {
	all := c.rooms[room]
	m.Seq = int64(len(all)) + 1
	c.rooms[room] = append(all, m)
}

func (c *community) messages(r *http.Request) (int, any) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	all := slices.Clone(c.rooms[r.PathValue("id")])
	if c.fault == SwapMessages {
		slices.Reverse(all)
		for i := range all {
			all[i].Seq = int64(i) + 1
		}
	}
	all = all[min(after, len(all)):]
	return 200, crowd.Messages{Messages: all[:min(few, len(all))]}
}

// booked notifies the owner of a confirmed reservation.
func (c *community) booked(res *reservation) {
	text := fmt.Sprintf("Your seats for %s are booked", res.EventID)
	if !c.strikes(LoseNotice) {
		c.notify(res.member, crowd.NoticeBooking, res.ReservationID, text)
	}
	if c.strikes(DoubleNotice) {
		c.notify(res.member, crowd.NoticeBooking, res.ReservationID, text)
	}
}

// notify puts a notification into an inbox, and sends it to the streams.
func (c *community) notify(who, kind, ref, text string) {
	n := crowd.Notice{ID: rand.Text() + "/" + who, Type: kind, Message: text, RefID: ref}
	if kind == crowd.NoticeBooking {
		n.Params.Outcome = crowd.Booked // it tells of nothing else
	}
	c.inboxes[who] = slices.Insert(c.inboxes[who], 0, n)
	c.tellNotice(who, n)
}

func (c *community) tellNotice(who string, n crowd.Notice) {
	data, _ := json.Marshal(n) //nolint:errchkjson // it is all text
	c.tell(who, fmt.Sprintf("event: notification\nid: %s\ndata: %s\n\n", n.ID, data))
}

// tell adds an event to the streams of a member.
func (c *community) tell(who, event string) {
	c.feeds[who] = append(c.feeds[who], event)
	close(c.news)
	c.news = make(chan struct{})
}

func (c *community) listInbox(r *http.Request) (int, any) {
	all := c.inboxes[member(r)]
	if before := r.URL.Query().Get("before"); before != "" {
		all = all[slices.IndexFunc(all, func(n crowd.Notice) bool { return n.ID == before })+1:]
	}
	return 200, crowd.Inbox{Notifications: slices.Clone(all[:min(few, len(all))])}
}
