package tokens

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/millrace-go/millrace/internal/seal"
)

const (
	// MaxToken is the longest token that is read, in bytes: the limit of a cookie.
	MaxToken = 4096
	// Skew is how far the clocks of two machines may be apart: a token is valid
	// from that long before it was issued. Skew does not prolong a token.
	Skew = 5 * time.Second
)

// Config is that of the tokens of one kind.
type Config struct {
	// Issuer is the claim iss; "millrace" by default. A token of another issuer is
	// refused.
	Issuer string
	// Lasts is how long a token is valid that names no time itself; 600 s by
	// default. Tokens count whole seconds, and are never valid for longer.
	Lasts time.Duration
}

func (c Config) complete() (Config, error) {
	if c.Issuer == "" {
		c.Issuer = "millrace"
	}
	if c.Lasts == 0 {
		c.Lasts = 600 * time.Second
	}
	if c.Lasts < time.Second {
		return c, fmt.Errorf("token: Config.Lasts is %s; give at least a second, or 0 for 600 s", c.Lasts)
	}
	return c, nil
}

// Signer signs and verifies JWTs of one kind.
type Signer struct {
	keys     []*seal.Key
	typ      string
	audience string
	cfg      Config
	parser   *jwt.Parser
}

// NewSigner makes a signer of the tokens of a purpose, such as "entry".
func NewSigner(ring *seal.Ring, purpose string, cfg Config) (*Signer, error) {
	if ring == nil {
		return nil, errors.New("token: the ring is nil; make one with NewRing")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	s := &Signer{keys: seal.Keys(ring, purpose), typ: purpose + "+jwt", audience: "millrace-queue-" + purpose, cfg: cfg}
	s.parser = jwt.NewParser(
		jwt.WithIssuer(cfg.Issuer), jwt.WithAudience(s.audience), jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(),
	)
	return s, nil
}

// Registered fills the claims that all kinds have in common.
func (s *Signer) Registered(event, id string, issued, expires time.Time) jwt.RegisteredClaims {
	if issued.IsZero() {
		issued = time.Now()
	}
	if expires.IsZero() {
		expires = issued.Add(s.cfg.Lasts)
	}
	return jwt.RegisteredClaims{
		Issuer: s.cfg.Issuer, Audience: jwt.ClaimStrings{s.audience}, Subject: event, ID: id,
		IssuedAt: jwt.NewNumericDate(issued), NotBefore: jwt.NewNumericDate(issued.Add(-Skew)), ExpiresAt: jwt.NewNumericDate(expires),
	}
}

// Lasts is how long a token is valid unless it says otherwise.
func (s *Signer) Lasts() time.Duration { return s.cfg.Lasts }

// Sign makes the text of a token.
func (s *Signer) Sign(claims jwt.Claims) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	t.Header["typ"], t.Header["kid"] = s.typ, s.keys[0].Name
	text, err := t.SignedString(s.keys[0].Secret())
	if err != nil {
		return "", fmt.Errorf("token: sign: %w", err)
	}
	if len(text) > MaxToken {
		return "", fmt.Errorf("token: the token would have %d bytes, of which %d can be carried; use shorter names", len(text), MaxToken)
	}
	return text, nil
}

// Verify reads a token into claims, or returns why it is refused.
func (s *Signer) Verify(text string, claims jwt.Claims) error {
	switch {
	case text == "":
		return seal.ErrMissing
	case len(text) > MaxToken, strings.ContainsAny(text, "\r\n"): // the decoder passes over line breaks
		return seal.ErrMalformed
	}
	t, err := s.parser.ParseWithClaims(text, claims, s.keyOf)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, seal.ErrAlgorithm):
		return seal.ErrAlgorithm
	case errors.Is(err, seal.ErrType), errors.Is(err, jwt.ErrTokenInvalidAudience), errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return seal.ErrType
	case errors.Is(err, seal.ErrSignature), errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return seal.ErrSignature
	case errors.Is(err, jwt.ErrTokenExpired):
		return seal.ErrExpired
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return seal.ErrNotYet
	case errors.Is(err, jwt.ErrTokenUnverifiable) && t != nil:
		// An algorithm that the library does not know has no method to ask for a key.
		if alg, ok := t.Header["alg"].(string); ok && alg != jwt.SigningMethodHS256.Alg() {
			return seal.ErrAlgorithm
		}
	}
	return seal.ErrMalformed
}

func (s *Signer) keyOf(t *jwt.Token) (any, error) {
	if t.Method != jwt.SigningMethodHS256 {
		return nil, seal.ErrAlgorithm
	}
	if t.Header["typ"] != s.typ {
		return nil, seal.ErrType
	}
	for _, k := range s.keys {
		if t.Header["kid"] == k.Name {
			return k.Secret(), nil
		}
	}
	return nil, seal.ErrSignature
}

// CheckName refuses names that JSON would change on the way: two users must never
// have the same token.
func CheckName(what, name string) error {
	if name == "" {
		return fmt.Errorf("token: the %s is empty", what)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("token: the %s is not UTF-8", what)
	}
	return nil
}

// Date is the time of a claim; zero where it is missing.
func Date(d *jwt.NumericDate) time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.Time
}
