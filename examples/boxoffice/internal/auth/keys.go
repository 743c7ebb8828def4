package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// MinSecret is the least length of a secret in bytes, as the strength of HS256
// requires.
const MinSecret = 32

// issuer of all tokens.
const issuer = "boxoffice"

// leeway is how far two machines' clocks may be apart.
const leeway = 5 * time.Second

// Why a token is refused. Answers contain these words.
var (
	ErrMissing   = errors.New("missing")
	ErrMalformed = errors.New("malformed")
	ErrAlgorithm = errors.New("wrong_algorithm")
	ErrType      = errors.New("wrong_type")
	ErrSignature = errors.New("bad_signature")
	ErrExpired   = errors.New("expired")
)

// CheckSecret refuses a secret that is too short.
func CheckSecret(secret string) error {
	if len(secret) < MinSecret {
		return fmt.Errorf("the secret is %d bytes long; use at least %d, such as the output of: openssl rand -hex 32", len(secret), MinSecret)
	}
	return nil
}

// key is a secret for one purpose. Its id can be published.
type key struct {
	id     string
	secret []byte
}

// derive makes the key of a purpose from a secret, so that one secret can serve
// many purposes without their tokens being interchangeable.
func derive(secret, purpose string) key {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("boxoffice/" + purpose))
	k := mac.Sum(nil)
	id := sha256.Sum256(append([]byte("id/"), k...))
	return key{id: hex.EncodeToString(id[:6]), secret: k}
}

func (k key) sign(typ string, claims jwt.Claims) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	t.Header["typ"], t.Header["kid"] = typ, k.id
	s, err := t.SignedString(k.secret)
	if err != nil {
		return "", fmt.Errorf("auth: sign: %w", err)
	}
	return s, nil
}

// verify reads a token into claims, or returns one of the errors above.
func (k key) verify(token, typ, audience string, claims jwt.Claims) error {
	if token == "" {
		return ErrMissing
	}
	parser := jwt.NewParser(
		jwt.WithIssuer(issuer), jwt.WithAudience(audience), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithStrictDecoding(),
	)
	_, err := parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		if t.Method != jwt.SigningMethodHS256 {
			return nil, ErrAlgorithm
		}
		if t.Header["typ"] != typ {
			return nil, ErrType
		}
		if t.Header["kid"] != k.id {
			return nil, ErrSignature
		}
		return k.secret, nil
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrAlgorithm):
		return ErrAlgorithm
	case errors.Is(err, ErrType), errors.Is(err, jwt.ErrTokenInvalidAudience), errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return ErrType
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, ErrSignature):
		return ErrSignature
	case errors.Is(err, jwt.ErrTokenExpired):
		return ErrExpired
	}
	// Unknown algorithms are among the rest: they have no method to compare.
	if alg, ok := algorithm(token); ok && alg != jwt.SigningMethodHS256.Alg() {
		return ErrAlgorithm
	}
	return ErrMalformed
}

// algorithm is the algorithm that an unverified token names.
func algorithm(token string) (string, bool) {
	t, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	if t == nil || t.Header == nil || err != nil && !errors.Is(err, jwt.ErrTokenUnverifiable) {
		return "", false
	}
	alg, ok := t.Header["alg"].(string)
	return alg, ok
}
