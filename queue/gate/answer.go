package gate

import (
	"context"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/queue/queuehttp"
)

// answer serves a request that does not go on to the origin.
func (g *Gate) answer(w http.ResponseWriter, q question, d decision) {
	if d.cookie != nil {
		http.SetCookie(w, d.cookie)
	}
	switch d.verdict {
	case enters:
		// A navigation of its own carries the pass, so that no answer of the origin
		// does, which a cache might keep.
		g.counts.entered.Add(1)
		w.Header().Set("Location", sameAddress(q.target))
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusSeeOther)
	case waits:
		g.counts.waited.Add(1)
		r := q.WithContext(q.Context())
		r.Method = q.by // a proxy that asks by GET about a HEAD waits for the content
		g.page.ServeHTTP(w, r)
	case odd:
		g.counts.odd.Add(1)
		g.problem(w, http.StatusBadRequest, "odd-path", "The request can be read in more than one way",
			"write the path without steps of dots, escaped slashes, backslashes and text that is escaped twice, and ask for no Upgrade to HTTP/2 or TLS", 0)
	default:
		g.counts.refused.Add(1)
		g.problem(w, http.StatusTooManyRequests, "place-needed", "This part of the site has a waiting room",
			"load a page of the site in a browser to get a place, and ask again with its cookies", g.cfg.RetryAfter)
	}
}

func (g *Gate) problem(w http.ResponseWriter, status int, name, title, detail string, retryAfter time.Duration) {
	(&queuehttp.Problem{Status: status, Type: "/problems/" + name, Title: title, Detail: detail, RetryAfter: retryAfter}).Write(w)
}

// complain logs the details that visitors don't see.
func (g *Gate) complain(what string, err error) {
	g.complaints.Error(context.Background(), g.cfg.Logger, what, err)
}
