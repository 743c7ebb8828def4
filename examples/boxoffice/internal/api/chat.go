package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
)

// Messages in one answer.
const (
	fewMessages  = 50
	manyMessages = 100
)

func (a *API) chatRoutes(public func(string, handler), member, writes func(string, memberHandler)) {
	member("GET /api/rooms/{id}/messages", a.messages)
	writes("POST /api/rooms/{id}/messages", a.say)
	writes("POST /api/rooms/{id}/join", a.joinRoom)
	writes("DELETE /api/rooms/{id}/join", a.leaveRoom)
	public("GET /api/rooms/{id}/ws", a.room)
}

// messages are the newest, or those after or before a place; in order.
func (a *API) messages(w http.ResponseWriter, r *http.Request, member string) error {
	room := r.PathValue("id")
	if err := a.cfg.Chat.Exists(r.Context(), room); err != nil {
		return chatProblem(err)
	}
	limit, _, err := number(r, "limit", 1, manyMessages)
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = fewMessages
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
	read := a.cfg.Chat.Before
	if forward {
		read, before = a.cfg.Chat.After, after
	}
	found, err := read(r.Context(), room, before, int(limit))
	if err != nil {
		return err
	}
	joined, err := a.cfg.Chat.Joined(r.Context(), member, room)
	if err != nil {
		return err
	}
	out := make([]chat.MessageJSON, len(found))
	for i, m := range found {
		out[i] = m.JSON()
	}
	answer(w, http.StatusOK, map[string]any{"messages": out, "joined": joined})
	return nil
}

// number reads a parameter of the query; given reports whether it is set.
func number(r *http.Request, name string, least, most int64) (n int64, given bool, err error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, false, invalid(name, "%s must be a whole number from %d to %d", name, least, most)
	}
	return n, true, nil
}

// say accepts a message; it is stored and announced a moment later.
func (a *API) say(w http.ResponseWriter, r *http.Request, member string) error {
	id, err := a.send(w, r, member, r.PathValue("id"))
	if err != nil {
		return err
	}
	answer(w, http.StatusAccepted, map[string]string{"id": id})
	return nil
}

func (a *API) send(w http.ResponseWriter, r *http.Request, member, room string) (id string, err error) {
	var body struct {
		Text *string `json:"text"`
	}
	if err := decode(w, r, &body); err != nil {
		return "", err
	}
	if body.Text == nil {
		return "", invalid("text", `the field "text" is missing`)
	}
	id, err = a.cfg.Chat.Send(r.Context(), member, room, *body.Text)
	return id, chatProblem(err)
}

func (a *API) joinRoom(w http.ResponseWriter, r *http.Request, member string) error {
	return a.moved(w, a.cfg.Chat.Join(r.Context(), member, r.PathValue("id")))
}

func (a *API) leaveRoom(w http.ResponseWriter, r *http.Request, member string) error {
	return a.moved(w, a.cfg.Chat.Leave(r.Context(), member, r.PathValue("id")))
}

func (a *API) moved(w http.ResponseWriter, err error) error {
	if err != nil {
		return chatProblem(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// room opens a WebSocket, and is open for as long as the client stays.
func (a *API) room(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := a.cfg.Chat.Exists(r.Context(), id); err != nil {
		return chatProblem(err)
	}
	after, given, err := number(r, "after", 0, 1<<53)
	if err != nil {
		return err
	}
	if !given {
		after = -1
	}
	if err := a.cfg.Chat.Check(r); err != nil { // a ticket is good for one attempt
		return chatProblem(err)
	}
	member, err := a.opener(r)
	if err != nil {
		return err
	}
	return chatProblem(a.cfg.Chat.Serve(w, r, chat.Visit{
		Room: id, Member: member, After: after, Address: door.From(r.Context()),
		Post: func(ctx context.Context, frame []byte) []byte { return a.posted(r, ctx, member, id, frame) },
	}))
}

// opener identifies the member that opens a socket: by the sign-in, or by a ticket,
// because a browser's WebSocket cannot send custom headers.
func (a *API) opener(r *http.Request) (string, error) {
	query := r.URL.Query()
	if a.cfg.Live != nil && r.Header.Get("Authorization") == "" && query.Has("ticket") {
		member, err := a.cfg.Live.Redeem(r.Context(), query.Get("ticket"))
		return member, badTicket(err)
	}
	member, err := a.cfg.Login.Member(r)
	if err != nil {
		return "", signIn(err)
	}
	return member, nil
}

// posted answers a frame of a socket as POST …/messages answers its body, and
// within the same bound.
func (a *API) posted(opened *http.Request, ctx context.Context, member, room string, frame []byte) []byte { //nolint:revive // the request is the frame's surroundings
	r := opened.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(frame))
	var id string
	err := a.bounded(func(w http.ResponseWriter, r *http.Request) (err error) {
		id, err = a.send(w, r, member, room)
		return err
	})(nil, r)
	if err == nil {
		return frameOf(map[string]any{"type": "accepted", "id": id})
	}
	p := problemOf(err, a.cfg.Store.Classify)
	if p.status >= http.StatusInternalServerError && p.name != "busy" && ctx.Err() == nil {
		a.log.ErrorContext(ctx, "message failed", "route", opened.Pattern, "status", p.status, "error", err)
	}
	return frameOf(map[string]any{"type": "refused", "problem": p.body()})
}

// body is the problem document.
func (p *problem) body() map[string]any {
	body := map[string]any{"type": "/problems/" + p.name, "title": p.title, "status": p.status, "detail": p.detail}
	for k, v := range p.more {
		body[k] = v
	}
	return body
}

func frameOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // only values of this package are marshaled
		panic(fmt.Sprintf("api: marshal a frame: %v", err))
	}
	return b
}

func chatProblem(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, chat.ErrNoRoom):
		return newProblem(http.StatusNotFound, "room-not-found", "No such room", "there is no room with this id; each show has one, GET /api/shows lists them")
	case errors.Is(err, chat.ErrNotJoined):
		return newProblem(http.StatusForbidden, "not-joined", "Join the room first", "only who has joined the room writes in it; POST /api/rooms/{id}/join joins it")
	case errors.Is(err, chat.ErrText):
		return invalid("text", `the field "text" must be 1 to %d characters of text`, chat.MaxText)
	case errors.Is(err, chat.ErrOrigin):
		return newProblem(http.StatusForbidden, "origin-refused", "The page is from another site", "pages of other sites cannot open a room here")
	case errors.Is(err, chat.ErrUpgrade):
		return newProblem(http.StatusUpgradeRequired, "upgrade-required", "A WebSocket is needed", "open this address as a WebSocket; GET /api/rooms/{id}/messages reads the room without one").
			withHeader("Upgrade", "websocket").withHeader("Connection", "Upgrade")
	case errors.Is(err, chat.ErrClosed):
		return newProblem(http.StatusServiceUnavailable, "no-sockets", "No sockets now", "the process takes no more sockets now; GET /api/rooms/{id}/messages reads the room").withHeader("Retry-After", "2")
	}
	return err
}
