package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxControlBody bounds the body of a control request.
const maxControlBody = 1 << 20

// routes serves the control paths. None of them counts as a call.
func (u *Upstream) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_/stats", u.getStats)
	mux.HandleFunc("GET /_/log", u.getLog)
	mux.HandleFunc("GET /_/faults", u.getFaults)
	mux.HandleFunc("POST /_/faults", u.postFault)
	mux.HandleFunc("DELETE /_/faults", u.deleteFaults)
	mux.HandleFunc("POST /_/reset", u.postReset)
	mux.HandleFunc("POST /_/revise/{id}", u.postRevise)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p := &problem{
			status: http.StatusNotFound, name: "route-not-found", title: "No such route",
			detail: fmt.Sprintf("%.10s %.60s is none of GET /_/stats, GET /_/log, GET, POST and DELETE /_/faults, POST /_/reset, POST /_/revise/{id}", r.Method, r.URL.Path),
		}
		p.write(w)
	})
	return mux
}

func (u *Upstream) getStats(w http.ResponseWriter, r *http.Request) {
	last, p := lastOf(r)
	if p != nil {
		p.write(w)
		return
	}
	answer(w, http.StatusOK, u.Stats(last))
}

func (u *Upstream) getLog(w http.ResponseWriter, r *http.Request) {
	last, p := lastOf(r)
	if p != nil {
		p.write(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = u.WriteLog(w, last) // the client may be gone
}

// Faults is the answer of GET /_/faults.
type Faults struct {
	Faults []Fault `json:"faults"`
}

func (u *Upstream) getFaults(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, Faults{Faults: u.rules.all()})
}

func (u *Upstream) postFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	if p := readJSON(w, r, &f); p != nil {
		p.write(w)
		return
	}
	f, p := u.rules.add(f)
	if p != nil {
		p.write(w)
		return
	}
	answer(w, http.StatusCreated, f)
}

func (u *Upstream) deleteFaults(w http.ResponseWriter, _ *http.Request) {
	u.rules.clear()
	w.WriteHeader(http.StatusNoContent)
}

func (u *Upstream) postReset(w http.ResponseWriter, _ *http.Request) {
	u.Reset()
	w.WriteHeader(http.StatusNoContent)
}

// Reset forgets all counts, the log, a ban and all faults. Revisions stay.
func (u *Upstream) Reset() {
	u.rules.clear()
	u.rules.forget()
	u.gate.reset()
}

// Revised is the answer of POST /_/revise/{id}.
type Revised struct {
	ID        string    `json:"id"`
	Revision  uint64    `json:"revision"`
	Level     uint64    `json:"level"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func (u *Upstream) postRevise(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	n, ok := artistNumber(id)
	if !ok {
		p := &problem{
			status: http.StatusNotFound, name: "artist-not-found", title: "No such artist",
			detail: fmt.Sprintf("there is no artist %.40q: use 1 to %d", id, Artists), field: "id",
		}
		p.write(w)
		return
	}
	a := u.revisions.revise(n)
	answer(w, http.StatusOK, Revised{ID: id, Revision: a.revision, Level: a.level(), UpdatedAt: a.updatedAt()})
}

// lastOf reads ?last=, how far back the log is looked at; 0 is all of it.
func lastOf(r *http.Request) (time.Duration, *problem) {
	text := r.URL.Query().Get("last")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, invalid("last", "last %.40q must be a time above 0 such as 90s or 5m", text)
	}
	return d, nil
}

// readJSON reads a body of exactly one JSON object.
func readJSON(w http.ResponseWriter, r *http.Request, into any) *problem {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxControlBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err == nil {
			err = errors.New("more than one JSON value")
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		p := invalid("", "the body is over %d bytes", maxControlBody)
		p.status = http.StatusRequestEntityTooLarge
		return p
	}
	return invalid("", "the body must be one JSON object: %v", err)
}
