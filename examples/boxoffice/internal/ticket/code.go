package ticket

import (
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

// MaxCode is the longest code that is parsed, in bytes; the codes of this package are
// some 300 long.
const MaxCode = 1024

// Why a code is refused. Answers contain these words.
var (
	ErrMalformed  = errors.New("malformed")     // no ticket of any office
	ErrUnknownKey = errors.New("unknown_key")   // signed by a key that is not, or no longer, listed
	ErrSignature  = errors.New("bad_signature") // changed, or signed by another
)

// typ is in the header of every code: no other token can be taken for a ticket.
const typ = "ticket"

// Ticket is one seat of a confirmed reservation, with the names that its code has. They
// are few and short: each byte makes the picture finer.
type Ticket struct {
	ID     string `json:"tkt"` // the reservation and the seat
	ShowID string `json:"show"`
	SeatID string `json:"seat"`
	// Generation counts the owners: a transfer raises it.
	Generation int64 `json:"gen"`
}

// claims are the claims of a code. A ticket has no times of its own: the show's doors
// decide.
type claims struct {
	Ticket
	jwt.RegisteredClaims
}

// Sign makes the code of a ticket: a compact JWS. The same ticket has the same code.
func (k *Keys) Sign(t Ticket) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{Ticket: t})
	token.Header["typ"], token.Header["kid"] = typ, k.id
	code, err := token.SignedString(k.signer)
	if err != nil {
		return "", fmt.Errorf("ticket: sign: %w", err)
	}
	return code, nil
}

// Verify reads a code by the public keys alone: it needs no server. It returns one of
// the errors above. A genuine ticket may still be used, refunded or transferred, which
// only [Door.Scan] knows.
func Verify(keys PublicKeys, code string) (Ticket, error) {
	if len(code) > MaxCode {
		return Ticket{}, ErrMalformed
	}
	var c claims
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithStrictDecoding())
	_, err := parser.ParseWithClaims(code, &c, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != typ {
			return nil, ErrMalformed
		}
		id, _ := t.Header["kid"].(string)
		key, ok := keys[id]
		if !ok {
			return nil, ErrUnknownKey
		}
		return key, nil
	})
	switch {
	case errors.Is(err, ErrUnknownKey):
		return Ticket{}, ErrUnknownKey
	case errors.Is(err, ErrMalformed):
		return Ticket{}, ErrMalformed
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return Ticket{}, ErrSignature
	case err != nil, c.Ticket.ID == "", c.ShowID == "", c.SeatID == "", c.Generation < 1:
		return Ticket{}, ErrMalformed
	}
	return c.Ticket, nil
}
