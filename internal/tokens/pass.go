package tokens

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

// Passes signs and checks the passes of a trusted edge: see Pass of package queue/token.
type Passes struct{ keys []*seal.Key }

// NewPasses makes a Passes with the keys of a ring.
func NewPasses(ring *seal.Ring) *Passes { return &Passes{keys: seal.Keys(ring, "pass")} }

// Sign makes a pass that is valid around now. No part may hold a line feed: such
// a pass is never valid.
func (p *Passes) Sign(pass Pass) string {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	k := p.keys[0]
	return k.Name + "." + at + "." + base64.RawURLEncoding.EncodeToString(seal.Sum(k.Secret(), pass.text(at)))
}

// Check says whether text is a pass for the request: nil, or a refusal of package
// seal.
func (p *Passes) Check(text string, pass Pass) error {
	if text == "" {
		return seal.ErrMissing
	}
	const most = 128
	id, rest, _ := strings.Cut(text, ".")
	at, signature, ok := strings.Cut(rest, ".")
	if !ok || len(text) > most || strings.ContainsAny(text, "\r\n") { // the decoder passes over line breaks
		return seal.ErrMalformed
	}
	for _, part := range [...]string{pass.Method, pass.Path, pass.Event, pass.User} {
		if strings.Contains(part, "\n") {
			return seal.ErrMalformed // another pass could have the same text
		}
	}
	return seal.CheckTimed(p.keys, id, at, signature, pass.text(at))
}

func (p Pass) text(at string) string {
	return strings.Join([]string{p.Method, p.Path, p.Event, p.User, at}, "\n")
}
