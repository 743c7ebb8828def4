package queuehttp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
)

// serveDraw answers with what is published of the event's draw: a [draw.Published]. It needs
// no sign-in, and caches may keep it for a second, for a day once it is complete. For an
// event without an opening it is 204: a page may ask for any event.
func (h *Handlers) serveDraw(w http.ResponseWriter, r *http.Request) error {
	p, err := h.published(r)
	if errors.Is(err, queue.ErrNoDraw) {
		w.Header().Set("Cache-Control", "public, max-age=1")
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("queuehttp: %w", err)
	}
	age := "public, max-age=1"
	if len(p.Seed) > 0 {
		age = "public, max-age=86400"
	}
	cacheable(w, "application/json", age)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
	return nil
}

// serveLeaves answers with the leaves of the event's draw, one a line, as a stream. Caches
// may keep it for a day; put one before it, since each answer reads the whole list from
// the store. Before the freeze it is 404.
func (h *Handlers) serveLeaves(w http.ResponseWriter, r *http.Request) error {
	p, err := h.published(r)
	if err == nil && len(p.Root) == 0 {
		err = queue.ErrNoDraw
	}
	if err != nil {
		return err
	}
	etag := fmt.Sprintf(`"%x"`, []byte(p.Root))
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	cacheable(w, "text/plain; charset=utf-8", "public, max-age=86400, immutable")
	b := make([]byte, 0, driver.MaxLeaves*(2*draws.Size+1))
	left := p.Count
	err = h.room.Leaves(r.Context(), p.Event, func(leaves []draw.Leaf) error {
		left -= len(leaves)
		b = b[:0]
		for _, leaf := range leaves {
			b = append(append(b, leaf.String()...), '\n')
		}
		_, err := w.Write(b)
		return err
	})
	switch {
	case err == nil && left == 0:
		return nil
	case left == p.Count: // without a part of the list
		w.Header().Del("ETag")
		w.Header().Del("Cache-Control")
		return cmp.Or(err, queue.ErrNoDraw) // the room was cleared
	}
	// The client has a part. A connection that ends early tells it so.
	panic(http.ErrAbortHandler)
}

// serveReceipt answers with the leaf of the signed-in user in the event's draw.
func (h *Handlers) serveReceipt(w http.ResponseWriter, r *http.Request) error {
	event, user, err := h.visitor(r, false)
	if err != nil {
		return err
	}
	leaf, err := h.room.Receipt(r.Context(), event, user)
	if err != nil {
		return err
	}
	write(w, http.StatusOK, "application/json", []byte(`{"leaf":"`+leaf.String()+"\"}\n"))
	return nil
}

func (h *Handlers) published(r *http.Request) (draw.Published, error) {
	event, err := h.knownEvent(r)
	if err != nil {
		return draw.Published{}, err
	}
	return h.room.Published(r.Context(), event)
}

func cacheable(w http.ResponseWriter, kind, age string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", age)
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

func (h *Handlers) setOpening(w http.ResponseWriter, r *http.Request) error {
	fields, err := h.fields(w, r, `{"opens": "2027-05-01T11:00:00Z"}`, "opens", "beacon")
	if err != nil {
		return err
	}
	var at time.Time // null leaves it as it is
	if err := json.Unmarshal(fields["opens"], &at); err != nil {
		return h.invalid("opens", `opens is missing, or no time; send {"opens": "2027-05-01T11:00:00Z"}, or null for none`, err)
	}
	var beacon string
	if raw, named := fields["beacon"]; named {
		if err := json.Unmarshal(raw, &beacon); err != nil {
			return h.invalid("beacon", "beacon is no text", err)
		}
	}
	return h.operate(w, r, func(ctx context.Context, event string) (queue.State, error) {
		return h.room.OpenAt(ctx, event, at, beacon)
	})
}
