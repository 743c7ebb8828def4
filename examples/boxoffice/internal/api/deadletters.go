package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

const (
	maxLetters = 1000 // of a list, and of ids in a request
	maxRate    = 10_000
)

// DeadLetters is what consumers could not handle; see package ops for the answers and
// errors.
type DeadLetters interface {
	DeadLetters(ctx context.Context, topic string, limit int) (any, error)
	DeadLetter(ctx context.Context, topic, id string) (any, error)
	EditDeadLetter(ctx context.Context, topic, id string, payload []byte) error
	RedriveDeadLetters(ctx context.Context, topic string, s ops.Selection) (any, error)
	DropDeadLetters(ctx context.Context, topic string, s ops.Selection) (any, error)
}

// deadLetterRoutes show an operator the letters of a topic, and change them.
type deadLetterRoutes struct{ of DeadLetters }

func (d deadLetterRoutes) mount(g *guard) {
	g.operator("GET /api/admin/dead-letters/{topic}", d.list)
	g.operator("GET /api/admin/dead-letters/{topic}/{id}", d.letter)
	g.operator("PUT /api/admin/dead-letters/{topic}/{id}", d.edit)
	g.operator("POST /api/admin/dead-letters/{topic}/redrive", change(d.of.RedriveDeadLetters))
	g.operator("POST /api/admin/dead-letters/{topic}/drop", change(d.of.DropDeadLetters))
}

// list lists the letters of a topic, oldest first; ?limit=N, 100 by default.
func (d deadLetterRoutes) list(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, 100, maxLetters)
	if err != nil {
		return err
	}
	list, err := d.of.DeadLetters(r.Context(), r.PathValue("topic"), limit)
	return reply(w, http.StatusOK, list, err)
}

// letter shows one letter with its payload.
func (d deadLetterRoutes) letter(w http.ResponseWriter, r *http.Request) error {
	letter, err := d.of.DeadLetter(r.Context(), r.PathValue("topic"), r.PathValue("id"))
	return reply(w, http.StatusOK, letter, err)
}

// edit replaces a letter's payload.
func (d deadLetterRoutes) edit(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Payload  *string `json:"payload"`
		Encoding string  `json:"encoding"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Payload == nil {
		return invalid("payload", `the field "payload" is missing`)
	}
	payload := []byte(*body.Payload)
	switch body.Encoding {
	case "", "utf-8":
	case "base64":
		var err error
		if payload, err = base64.StdEncoding.DecodeString(*body.Payload); err != nil {
			return invalid("payload", `the field "payload" is not base64, as "encoding" says`)
		}
	default:
		return invalid("encoding", `the field "encoding" must be utf-8 or base64`)
	}
	return done(w, d.of.EditDeadLetter(r.Context(), r.PathValue("topic"), r.PathValue("id"), payload))
}

// selection has the letters of a request.
type selection struct {
	IDs    []string  `json:"ids"`
	All    bool      `json:"all"`
	DryRun bool      `json:"dryRun"`
	Rate   float64   `json:"rate"`
	Before time.Time `json:"before"`
}

func (s selection) check() error {
	switch {
	case s.All && len(s.IDs) > 0:
		return invalid("ids", `"all" means every letter; send "ids" or "all", not both`)
	case !s.All && len(s.IDs) == 0:
		return invalid("ids", `say which letters: "ids", or "all": true for every one`)
	case len(s.IDs) > maxLetters:
		return invalid("ids", `"ids" may name %d letters at most; "all" means every one`, maxLetters)
	case s.Rate < 0 || s.Rate > maxRate:
		return invalid("rate", "rate is letters a second, up to %d, or 0 for no bound", maxRate)
	}
	for _, id := range s.IDs {
		if id == "" {
			return invalid("ids", `"ids" holds an empty id`)
		}
	}
	return nil
}

// change redrives or drops the letters of a request.
func change(how func(ctx context.Context, topic string, s ops.Selection) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var body selection
		if err := decode(w, r, &body); err != nil {
			return err
		}
		if err := body.check(); err != nil {
			return err
		}
		done, err := how(r.Context(), r.PathValue("topic"), ops.Selection(body))
		return reply(w, http.StatusOK, done, err)
	}
}
