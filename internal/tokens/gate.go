package tokens

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/millrace-go/millrace/internal/seal"
)

// GateClaims are the claims of a front gate's token: its holder has passed the gate
// of the event with a position.
type GateClaims struct {
	Event     string    // sub
	Position  int64     // pos, from 1
	Member    string    // uid; empty for a token that is good for all that have it
	ID        string    // jti; empty in Issue: random
	IssuedAt  time.Time // zero in Issue: now
	ExpiresAt time.Time // zero in Issue: Config.Lasts later
}

// Gates issues and verifies the tokens of a front gate: JWTs by HS256 with the
// header typ "gate+jwt" and the claim tier, which is 1.
type Gates struct{ signer *Signer }

// NewGates makes a Gates with the keys of a ring.
func NewGates(ring *seal.Ring, cfg Config) (*Gates, error) {
	s, err := NewSigner(ring, "gate", cfg)
	if err != nil {
		return nil, err
	}
	return &Gates{signer: s}, nil
}

const gateTier = 1

type gateJWT struct {
	Tier     int    `json:"tier"`
	Position int64  `json:"pos"`
	Member   string `json:"uid,omitempty"`
	jwt.RegisteredClaims
}

// Issue makes a token. Event and Position are required.
func (g *Gates) Issue(c GateClaims) (string, error) {
	if err := CheckName("event", c.Event); err != nil {
		return "", err
	}
	if c.Member != "" {
		if err := CheckName("member", c.Member); err != nil {
			return "", err
		}
	}
	if c.Position < 1 {
		return "", fmt.Errorf("token: the position is %d; positions count from 1", c.Position)
	}
	if c.ID == "" {
		c.ID = rand.Text()
	}
	return g.signer.Sign(gateJWT{Tier: gateTier, Position: c.Position, Member: c.Member, RegisteredClaims: g.signer.Registered(c.Event, c.ID, c.IssuedAt, c.ExpiresAt)})
}

// Lasts is how long a token is valid unless it says otherwise.
func (g *Gates) Lasts() time.Duration { return g.signer.Lasts() }

// Verify reads a token for an event. Errors are the refusals of package token. Whether
// the caller is its Member is for the caller of Verify to compare.
func (g *Gates) Verify(text, event string) (GateClaims, error) {
	var c gateJWT
	if err := g.signer.Verify(text, &c); err != nil {
		return GateClaims{}, err
	}
	switch {
	case c.Tier != gateTier:
		return GateClaims{}, seal.ErrType
	case c.Subject == "" || c.Position < 1:
		return GateClaims{}, seal.ErrMalformed
	case c.Subject != event:
		return GateClaims{}, seal.ErrEvent
	}
	return GateClaims{Event: c.Subject, Position: c.Position, Member: c.Member, ID: c.ID, IssuedAt: Date(c.IssuedAt), ExpiresAt: Date(c.ExpiresAt)}, nil
}
