package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// fakeChat are the rooms' messages, members and sockets.
type fakeChat struct {
	messages map[string][]fakeMessage // by room, in order
	joined   map[string]map[string]bool
	sockets  map[*websocket.Conn]string // → room
	no       bool                       // sockets are refused
	drop     bool                       // sockets lose messages
	refuses  string                     // messages are refused with these words
	work     sync.WaitGroup
}

type fakeMessage struct {
	room     string
	ID       string    `json:"id"`
	Seq      int       `json:"seq"`
	SenderID string    `json:"senderId"`
	Message  string    `json:"message"`
	SentAt   time.Time `json:"sentAt"`
}

func (c *fakeChat) begin() {
	c.messages, c.joined, c.sockets = map[string][]fakeMessage{}, map[string]map[string]bool{}, map[*websocket.Conn]string{}
}

// of lists the rooms of a member.
func (c *fakeChat) of(member string) []string {
	var rooms []string
	for room, members := range c.joined {
		if members[member] {
			rooms = append(rooms, room)
		}
	}
	return rooms
}

func (c *fakeChat) add(room, sender, text string, at time.Time) fakeMessage {
	seq := len(c.messages[room]) + 1
	m := fakeMessage{room, fmt.Sprintf("%s:%d", room, seq), seq, sender, text, at}
	c.messages[room] = append(c.messages[room], m)
	return m
}

// say writes a member's message into a room.
func (f *fake) say(room, sender, text string) {
	f.mu.Lock()
	m := f.chat.add(room, sender, text, time.Now())
	f.mu.Unlock()
	f.spread(m)
}

// spread sends a message to the sockets and streams.
func (f *fake) spread(m fakeMessage) {
	f.mu.Lock()
	var conns []*websocket.Conn
	for conn, room := range f.chat.sockets {
		if room == m.room && !f.chat.drop {
			conns = append(conns, conn)
		}
	}
	f.mu.Unlock()
	for _, conn := range conns {
		send(conn, m)
	}
	f.streams.toRoom(m)
}

func send(conn *websocket.Conn, m fakeMessage) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body, _ := json.Marshal(m)                       // it always marshals
	_ = conn.Write(ctx, websocket.MessageText, body) // the browser may be gone
}

// sockets lets WebSockets open, or closes all and refuses new ones.
func (f *fake) sockets(open bool) {
	f.mu.Lock()
	f.chat.no = !open
	var conns []*websocket.Conn
	for conn := range f.chat.sockets {
		conns = append(conns, conn)
	}
	f.mu.Unlock()
	if open {
		return
	}
	for _, conn := range conns {
		_ = conn.CloseNow() // it may be closed already
	}
}

func (f *fake) chatRoutes(mux *http.ServeMux, handle fakeHandle) {
	c := &f.chat
	handle("POST /api/rooms/{id}/join", func(r *http.Request, member string) (int, any) {
		flip(c.joined, r.PathValue("id"), member, true)
		_ = f.streams.hub.Join(r.Context(), member, r.PathValue("id")) // open streams hear of it, or when they open again
		return 204, nil
	}, false)
	handle("DELETE /api/rooms/{id}/join", func(r *http.Request, member string) (int, any) {
		flip(c.joined, r.PathValue("id"), member, false)
		_ = f.streams.hub.Leave(r.Context(), member, r.PathValue("id")) // as above
		return 204, nil
	}, false)
	handle("GET /api/rooms/{id}/messages", func(r *http.Request, member string) (int, any) {
		all, query := c.messages[r.PathValue("id")], r.URL.Query()
		limit, _ := strconv.Atoi(query.Get("limit"))
		joined := c.joined[r.PathValue("id")][member]
		if after := query.Get("after"); after != "" {
			n, _ := strconv.Atoi(after)
			all = all[min(n, len(all)):]
			return 200, map[string]any{"messages": slices.Clone(all[:min(limit, len(all))]), "joined": joined}
		}
		if before, err := strconv.Atoi(query.Get("before")); err == nil {
			all = all[:before-1]
		}
		return 200, map[string]any{"messages": append([]fakeMessage{}, all[max(0, len(all)-limit):]...), "joined": joined}
	}, false)
	handle("POST /api/rooms/{id}/messages", func(r *http.Request, member string) (int, any) {
		var in struct{ Text string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.Text == "" || c.refuses != "" {
			return 400, fault{c.refuses, ""}
		}
		m := c.add(r.PathValue("id"), member, in.Text, time.Now())
		c.work.Go(func() { f.spread(m) }) // after the answer, as often
		return 202, map[string]any{"id": m.ID}
	}, false)
	mux.HandleFunc("GET /api/rooms/{id}/ws", f.socket)
}

func (f *fake) socket(w http.ResponseWriter, r *http.Request) {
	room := r.PathValue("id")
	member, _ := f.streams.member(r.URL.Query().Get("ticket"))
	f.mu.Lock()
	refused := f.chat.no
	f.mu.Unlock()
	if member == "" || refused {
		problem(w, 503, "No sockets", "")
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow() //nolint:errcheck // it is over
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	f.mu.Lock()
	missed := slices.Clone(f.chat.messages[room][min(after, len(f.chat.messages[room])):])
	f.chat.sockets[conn] = room
	f.mu.Unlock()
	for _, m := range missed {
		send(conn, m)
	}
	<-conn.CloseRead(context.Background()).Done()
	f.mu.Lock()
	delete(f.chat.sockets, conn)
	f.mu.Unlock()
}

// listeners is how many sockets a room has.
func (f *fake) listeners(room string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.chat.sockets {
		if r == room {
			n++
		}
	}
	return n
}
