package token

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
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

// Entries issues and verifies the tokens of users who may be inside: JWTs by HS256
// with the header typ "entry+jwt".
type Entries struct{ signer *signer }

// NewEntries makes an Entries with the keys of a ring.
func NewEntries(ring *Ring, cfg Config) (*Entries, error) {
	s, err := newSigner(ring, "entry", cfg)
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
		if err := checkName(n.what, n.name); err != nil {
			return "", err
		}
	}
	return e.signer.sign(entryJWT{User: c.User, RegisteredClaims: e.signer.registered(c.Event, c.ID, c.IssuedAt, c.ExpiresAt)})
}

// Lasts is how long a token is valid unless it says otherwise.
func (e *Entries) Lasts() time.Duration { return e.signer.cfg.Lasts }

// Verify reads a token. The caller has to compare its user and event: see
// [EntryClaims.For]. Errors are the sentinels of this package.
func (e *Entries) Verify(text string) (EntryClaims, error) {
	var c entryJWT
	if err := e.signer.verify(text, &c); err != nil {
		return EntryClaims{}, err
	}
	if c.Subject == "" || c.User == "" || c.ID == "" {
		return EntryClaims{}, ErrMalformed
	}
	return EntryClaims{Event: c.Subject, User: c.User, ID: c.ID, IssuedAt: date(c.IssuedAt), ExpiresAt: date(c.ExpiresAt)}, nil
}

// For says whether the token admits the user to the event: nil, [ErrEvent] or
// [ErrUser].
func (c EntryClaims) For(event, user string) error {
	switch {
	case c.Event != event:
		return ErrEvent
	case c.User != user:
		return ErrUser
	}
	return nil
}
