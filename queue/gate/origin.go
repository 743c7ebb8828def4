package gate

import (
	"errors"
	"net/http"
	"strings"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue/token"
)

// The headers by which the gate tells the origin about a request.
const (
	eventHeader     = "X-Millrace-Event"
	userHeader      = "X-Millrace-User" // absent from, or empty in, a request that needs no place
	timeHeader      = "X-Millrace-Time" // seconds since 1970
	signatureHeader = "X-Millrace-Signature"
)

var signedHeaders = [...]string{eventHeader, userHeader, timeHeader, signatureHeader}

// stripHeaders removes what a visitor has sent under the names of the gate's
// headers. Programs that read headers by CGI's names take an underscore for a dash.
func stripHeaders(h http.Header) {
	for name := range h {
		for _, own := range signedHeaders {
			if strings.EqualFold(strings.ReplaceAll(name, "_", "-"), own) {
				delete(h, name)
			}
		}
	}
}

// signHeaders tells the origin which visitor a request is from.
func (g *Gate) signHeaders(h http.Header, method, host, target, user string) {
	at, signature := g.origins.Sign(seal.Forwarded{Method: method, Host: host, Target: target, Event: g.cfg.Event, User: user})
	h.Set(eventHeader, g.cfg.Event)
	if user != "" {
		h.Set(userHeader, user)
	}
	h.Set(timeHeader, at)
	h.Set(signatureHeader, signature)
}

// NewVerifier is for a Go program behind a gate, to refuse requests that went past it: with
// the keys of the gate it makes a function that says which event and user a request is from;
// the user is empty where the request needed no place. The function's error has a word of
// [token.Reason]: the request went past the gate, was changed after it, or is older than
// 30 s. Its method, host, path and query have to be as the gate sent them.
func NewVerifier(keys *token.Ring) (verify func(*http.Request) (event, user string, err error), err error) {
	if keys == nil {
		return nil, errors.New("gate: the keys are nil; make them with token.NewRing")
	}
	origins := seal.NewOrigins(keys)
	return func(r *http.Request) (event, user string, err error) {
		for _, name := range signedHeaders {
			if len(r.Header.Values(name)) > 1 {
				return "", "", seal.ErrMalformed
			}
		}
		event, user = r.Header.Get(eventHeader), r.Header.Get(userHeader)
		err = origins.Check(seal.Forwarded{Method: r.Method, Host: r.Host, Target: targetOf(r), Event: event, User: user},
			r.Header.Get(timeHeader), r.Header.Get(signatureHeader))
		if err != nil {
			return "", "", err
		}
		return event, user, nil
	}, nil
}
