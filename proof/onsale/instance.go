package onsale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

// instance is a server as it would run beside others, without its sockets.
type instance struct {
	room *queue.Room
	mux  *http.ServeMux
}

// secret is a made-up secret.
const secret = "a secret of the simulation, which protects nothing"

// patience is how long a call of the store may take. The default of a second is for
// servers; a loaded machine that stalls for longer should cost time here, and not
// answers, without which the steps of the store are unknown.
const patience = 10 * time.Second

// fanHeader names the caller: signing in is no part of this.
const fanHeader = "X-Fan"

func newInstance(store driver.Store, cfg Config) (*instance, error) {
	ring, err := token.NewRing(secret)
	if err != nil {
		return nil, err
	}
	room, err := queue.New(store, ring, queue.Config{
		Threshold: cfg.Threshold, Batch: cfg.Batch, NoShow: cfg.NoShow, Timeout: patience, Settings: cfg.settings, Beacon: beacon,
	})
	if err != nil {
		return nil, err
	}
	entries, err := token.NewEntries(ring, token.Config{})
	if err != nil {
		return nil, err
	}
	handlers, err := queuehttp.New(room, entries, queuehttp.Config{User: func(r *http.Request) (string, error) {
		if fan := r.Header.Get(fanHeader); fan != "" {
			return fan, nil
		}
		return "", errors.New("nobody is signed in")
	}})
	if err != nil {
		return nil, err
	}
	i := &instance{room: room, mux: http.NewServeMux()}
	handlers.Mount(i.mux.Handle, "/api/queue", nil)
	return i, nil
}

// action is an action of a person.
type action struct{ method, path string }

func actionOf(name, event string) action {
	return action{http.MethodPost, "/api/queue/" + name + "/" + event}
}

// answer is the part of an answer that a person reads.
type answer struct {
	Status     string  `json:"status"`
	NextPoll   float64 `json:"nextPoll"` // s
	Ticket     string  `json:"ticket"`
	EntryToken string  `json:"entryToken"`
	Position   int     `json:"position"`
	QueueSize  int     `json:"queueSize"`
	Leaf       string  `json:"leaf"` // of a receipt
}

func (a answer) next() time.Duration { return time.Duration(a.NextPoll * float64(time.Second)) }

// response is written to by a handler. It is used again.
type response struct {
	header http.Header
	status int
	body   []byte
}

// Header implements [http.ResponseWriter].
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) { w.status = status }

func (w *response) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// caller makes people's calls.
type caller struct{ responses sync.Pool }

func newCaller() *caller {
	return &caller{responses: sync.Pool{New: func() any { return &response{header: http.Header{}} }}}
}

// call makes a request of a person to an instance. The ticket goes along in its
// header, as a page without cookies would send it.
func (c *caller) call(ctx context.Context, to *instance, what action, fan, ticket string) (a answer, err error) {
	r := (&http.Request{
		Method: what.method, URL: &url.URL{Path: what.path}, Host: "shop.example", RequestURI: what.path,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{fanHeader: {fan}}, Body: http.NoBody,
	}).WithContext(ctx)
	if ticket != "" {
		r.Header.Set(queuehttp.TicketHeader, ticket)
	}
	w := c.responses.Get().(*response)
	defer c.responses.Put(w)
	clear(w.header)
	w.status, w.body = http.StatusOK, w.body[:0]
	to.mux.ServeHTTP(w, r)
	switch w.status {
	case http.StatusNoContent:
		return a, nil
	case http.StatusOK:
		err = json.Unmarshal(w.body, &a)
		return a, err
	}
	return a, fmt.Errorf("%s: %d %s", what.path, w.status, w.body)
}
