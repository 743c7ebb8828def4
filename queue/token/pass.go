package token

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/seal"
)

// Pass is one request that a trusted edge lets through.
type Pass struct {
	Method string
	Path   string // as it is on the wire, without the query
	Event  string
	User   string
}

// Passes signs and checks passes, which a trusted edge puts into a header so that
// one request needs no entry token. A pass is
//
//	<key id>.<seconds since 1970>.<base64url of HMAC-SHA256(key, text)>
//	text    method, path, event, user, seconds, joined by line feeds
//	key     HMAC-SHA256(secret, "millrace/queue/pass")
//	key id  the first 4 bytes of HMAC-SHA256(key, "id"), in hexadecimal
//
// It can be used again for the same request of the same user for 30 s.
type Passes struct{ keys []*seal.Key }

// NewPasses makes a Passes with the keys of a ring.
func NewPasses(ring *Ring) *Passes { return &Passes{keys: seal.Keys(ring, "pass")} }

// Sign makes a pass that is valid around now. No part may hold a line feed: such
// a pass is never valid.
func (p *Passes) Sign(pass Pass) string {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	k := p.keys[0]
	return k.Name + "." + at + "." + base64.RawURLEncoding.EncodeToString(seal.Sum(k.Secret(), pass.text(at)))
}

// Check says whether text is a pass for the request: nil, or a sentinel of this
// package.
func (p *Passes) Check(text string, pass Pass) error {
	if text == "" {
		return ErrMissing
	}
	const most = 128
	id, rest, _ := strings.Cut(text, ".")
	at, signature, ok := strings.Cut(rest, ".")
	if !ok || len(text) > most || strings.ContainsAny(text, "\r\n") { // the decoder passes over line breaks
		return ErrMalformed
	}
	for _, part := range [...]string{pass.Method, pass.Path, pass.Event, pass.User} {
		if strings.Contains(part, "\n") {
			return ErrMalformed // another pass could have the same text
		}
	}
	return seal.CheckTimed(p.keys, id, at, signature, pass.text(at))
}

func (p Pass) text(at string) string {
	return strings.Join([]string{p.Method, p.Path, p.Event, p.User, at}, "\n")
}
