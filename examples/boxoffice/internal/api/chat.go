package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
)

// Messages in one answer.
const (
	fewMessages  = 50
	manyMessages = 100
)

// chatRoutes are the rooms of the shows.
type chatRoutes struct {
	chat  *chat.Chat
	live  *live.Live // nil where sockets are opened by sign-in only
	guard *guard
}

func (c chatRoutes) mount(g *guard) {
	g.member("GET /api/rooms/{id}/messages", c.messages)
	g.writes("POST /api/rooms/{id}/messages", c.say)
	g.writes("POST /api/rooms/{id}/join", act(c.chat.Join))
	g.writes("DELETE /api/rooms/{id}/join", act(c.chat.Leave))
	g.public("GET /api/rooms/{id}/ws", c.room)
}

// messages are the newest, or those after or before a place; in order.
func (c chatRoutes) messages(w http.ResponseWriter, r *http.Request, member string) error {
	room := r.PathValue("id")
	if err := c.chat.Exists(r.Context(), room); err != nil {
		return err
	}
	limit, err := limitOf(r, fewMessages, manyMessages)
	if err != nil {
		return err
	}
	after, forward, err := number(r, "after", 0, 1<<53)
	if err != nil {
		return err
	}
	before, back, err := number(r, "before", 1, 1<<53)
	if err != nil {
		return err
	}
	if forward && back {
		return invalid("before", "give after or before, not both")
	}
	read := c.chat.Before
	if forward {
		read, before = c.chat.After, after
	}
	found, err := read(r.Context(), room, before, limit)
	if err != nil {
		return err
	}
	joined, err := c.chat.Joined(r.Context(), member, room)
	return reply(w, http.StatusOK, map[string]any{"messages": found, "joined": joined}, err)
}

// say accepts a message; it is stored and announced a moment later.
func (c chatRoutes) say(w http.ResponseWriter, r *http.Request, member string) error {
	id, err := c.send(w, r, member, r.PathValue("id"))
	return reply(w, http.StatusAccepted, map[string]string{"id": id}, err)
}

func (c chatRoutes) send(w http.ResponseWriter, r *http.Request, member, room string) (id string, err error) {
	var body struct {
		Text *string `json:"text"`
	}
	if err := decode(w, r, &body); err != nil {
		return "", err
	}
	if body.Text == nil {
		return "", invalid("text", `the field "text" is missing`)
	}
	return c.chat.Send(r.Context(), member, room, *body.Text)
}

// room opens a WebSocket, and is open for as long as the client stays.
func (c chatRoutes) room(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := c.chat.Exists(r.Context(), id); err != nil {
		return err
	}
	after, given, err := number(r, "after", 0, 1<<53)
	if err != nil {
		return err
	}
	if !given {
		after = -1
	}
	if err := c.chat.Check(r); err != nil { // a ticket is good for one attempt
		return err
	}
	member, err := c.opener(r)
	if err != nil {
		return err
	}
	return c.chat.Serve(w, r, chat.Visit{
		Room: id, Member: member, After: after, Address: door.From(r.Context()),
		Post: func(ctx context.Context, frame []byte) []byte { return c.posted(r, ctx, member, id, frame) },
	})
}

// opener identifies the member that opens a socket: by the sign-in, or by a ticket,
// because a browser's WebSocket cannot send custom headers.
func (c chatRoutes) opener(r *http.Request) (string, error) {
	query := r.URL.Query()
	if c.live != nil && r.Header.Get("Authorization") == "" && query.Has("ticket") {
		member, err := c.live.Redeem(r.Context(), query.Get("ticket"))
		return member, badTicket(err)
	}
	member, err := c.guard.login.Member(r)
	if err != nil {
		return "", signIn(err)
	}
	return member, nil
}

// posted answers a frame of a socket as POST …/messages answers its body, and
// within the same bound.
func (c chatRoutes) posted(opened *http.Request, ctx context.Context, member, room string, frame []byte) []byte { //nolint:revive // the request is the frame's surroundings
	r := opened.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(frame))
	var id string
	err := c.guard.bounded(func(w http.ResponseWriter, r *http.Request) (err error) {
		id, err = c.send(w, r, member, room)
		return err
	})(nil, r)
	if err == nil {
		return frameOf(map[string]any{"type": "accepted", "id": id})
	}
	p := c.guard.problem(ctx, err, "message failed", "route", opened.Pattern)
	return frameOf(map[string]any{"type": "refused", "problem": p.body()})
}

func frameOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // only values of this package are marshaled
		panic(fmt.Sprintf("api: marshal a frame: %v", err))
	}
	return b
}
