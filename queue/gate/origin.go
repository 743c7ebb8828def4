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
	EventHeader     = "X-Millrace-Event"
	UserHeader      = "X-Millrace-User" // absent from, or empty in, a request that needs no place
	TimeHeader      = "X-Millrace-Time" // seconds since 1970
	SignatureHeader = "X-Millrace-Signature"
)

var signedHeaders = [...]string{EventHeader, UserHeader, TimeHeader, SignatureHeader}

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
	h.Set(EventHeader, g.cfg.Event)
	if user != "" {
		h.Set(UserHeader, user)
	}
	h.Set(TimeHeader, at)
	h.Set(SignatureHeader, signature)
}

// Visit is a request that came through a gate.
type Visit struct {
	Event string
	User  string // empty for a request that needed no place
}

// Verifier is for a Go program behind a gate, to refuse requests that went past it.
// For other languages see [seal.Origins].
type Verifier struct{ origins *seal.Origins }

// NewVerifier makes a verifier with the keys of the gate.
func NewVerifier(keys *token.Ring) (*Verifier, error) {
	if keys == nil {
		return nil, errors.New("gate: the keys are nil; make them with token.NewRing")
	}
	return &Verifier{seal.NewOrigins(keys)}, nil
}

// Verify says which visitor a request is from. An error is one of package token's: the
// request went past the gate, was changed after it, or is older than
// 30 s. Its method, host, path and query have to be as the gate sent
// them.
func (v *Verifier) Verify(r *http.Request) (Visit, error) {
	for _, name := range signedHeaders {
		if len(r.Header.Values(name)) > 1 {
			return Visit{}, token.ErrMalformed
		}
	}
	visit := Visit{Event: r.Header.Get(EventHeader), User: r.Header.Get(UserHeader)}
	err := v.origins.Check(seal.Forwarded{Method: r.Method, Host: r.Host, Target: targetOf(r), Event: visit.Event, User: visit.User},
		r.Header.Get(TimeHeader), r.Header.Get(SignatureHeader))
	if err != nil {
		return Visit{}, err
	}
	return visit, nil
}
