package token

import (
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
)

// EntryClaims are the claims of an entry token.
type EntryClaims struct {
	Event string // sub
	User  string // uid
	// ID is the jti: the admission that the token is for, so that it is worth
	// nothing after the user has left and been admitted again.
	ID        string
	IssuedAt  time.Time // zero in Issue: now
	ExpiresAt time.Time // zero in Issue: Config.Lasts later
}

// Config is the configuration of [Entries]. The zero value works.
type Config struct {
	// Issuer is the claim iss; "millrace" by default. A token of another issuer is
	// refused.
	Issuer string
	// Lasts is how long a token is valid that names no time itself; 600 s by
	// default. Tokens count whole seconds, and are never valid for longer.
	Lasts time.Duration
}

// Entries issues and verifies the tokens of users who may be inside: JWTs by HS256
// with the header typ "entry+jwt".
type Entries struct{ signer *tokens.Signer }

// NewEntries makes an Entries with the keys of a ring.
func NewEntries(ring *Ring, cfg Config) (*Entries, error) {
	s, err := tokens.NewSigner(ring, "entry", tokens.Config(cfg))
	if err != nil {
		return nil, err
	}
	return &Entries{signer: s}, nil
}

type entryJWT struct {
	User string `json:"uid"`
	jwt.RegisteredClaims
}

// Issue makes a token. Event, User and ID are required, in UTF-8.
func (e *Entries) Issue(c EntryClaims) (string, error) {
	for _, n := range [...]struct{ what, name string }{{"event", c.Event}, {"user", c.User}, {"id", c.ID}} {
		if err := tokens.CheckName(n.what, n.name); err != nil {
			return "", err
		}
	}
	return e.signer.Sign(entryJWT{User: c.User, RegisteredClaims: e.signer.Registered(c.Event, c.ID, c.IssuedAt, c.ExpiresAt)})
}

// Lasts is how long a token is valid unless it says otherwise.
func (e *Entries) Lasts() time.Duration { return e.signer.Lasts() }

// Verify reads a token for an event. Errors are refusals: [Reason] gives the word for each.
// Whether the request comes from the token's User is for the caller to compare.
func (e *Entries) Verify(text, event string) (EntryClaims, error) {
	var c entryJWT
	if err := e.signer.Verify(text, &c); err != nil {
		return EntryClaims{}, err
	}
	switch {
	case c.Subject == "" || c.User == "" || c.ID == "":
		return EntryClaims{}, seal.ErrMalformed
	case c.Subject != event:
		return EntryClaims{}, seal.ErrEvent
	}
	return EntryClaims{Event: c.Subject, User: c.User, ID: c.ID, IssuedAt: tokens.Date(c.IssuedAt), ExpiresAt: tokens.Date(c.ExpiresAt)}, nil
}
