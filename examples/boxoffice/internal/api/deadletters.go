package api

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

const (
	maxLetters = 1000 // of a list, and of ids in a request
	maxRate    = 10_000
)

// deadLetters lists the letters of a topic, oldest first; ?limit=N, 100 by default.
func (a *API) deadLetters(w http.ResponseWriter, r *http.Request) error {
	limit := 100
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLetters {
			return invalid("limit", "limit must be a whole number from 1 to %d", maxLetters)
		}
		limit = n
	}
	list, err := a.cfg.Operator.DeadLetters(r.Context(), r.PathValue("topic"), limit)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, list)
	return nil
}

// deadLetter shows one letter with its payload.
func (a *API) deadLetter(w http.ResponseWriter, r *http.Request) error {
	letter, err := a.cfg.Operator.DeadLetter(r.Context(), r.PathValue("topic"), r.PathValue("id"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, letter)
	return nil
}

// editDeadLetter replaces a letter's payload.
func (a *API) editDeadLetter(w http.ResponseWriter, r *http.Request) error {
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
	if err := a.cfg.Operator.EditDeadLetter(r.Context(), r.PathValue("topic"), r.PathValue("id"), payload); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
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

func (a *API) redriveDeadLetters(w http.ResponseWriter, r *http.Request) error {
	return a.changeDeadLetters(w, r, true)
}

func (a *API) dropDeadLetters(w http.ResponseWriter, r *http.Request) error {
	return a.changeDeadLetters(w, r, false)
}

func (a *API) changeDeadLetters(w http.ResponseWriter, r *http.Request, redrive bool) error {
	var body selection
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if err := body.check(); err != nil {
		return err
	}
	change := a.cfg.Operator.DropDeadLetters
	if redrive {
		change = a.cfg.Operator.RedriveDeadLetters
	}
	done, err := change(r.Context(), r.PathValue("topic"), ops.Selection(body))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, done)
	return nil
}
