package live

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
)

// claims are the content of a ticket or a cookie.
type claims struct {
	Member string `json:"m"`
	ID     string `json:"i,omitempty"` // of the ticket
	Ends   int64  `json:"e"`           // Unix seconds
}

// maxToken is longer than any token that is made here.
const maxToken = 512

// leeway is how far two machines' clocks may be apart.
const leeway = 5 * time.Second

// seal signs and opens the tokens of one kind.
type seal struct{ key []byte }

// newSeal makes the key of a kind, so that no token passes for one of another.
func newSeal(secret, kind string) seal {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("boxoffice/stream-" + kind))
	return seal{mac.Sum(nil)}
}

// base64url has one text for each value.
var base64url = base64.RawURLEncoding.Strict()

func (s seal) sign(c claims) (string, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	body := base64url.EncodeToString(b)
	return body + "." + base64url.EncodeToString(s.mac(body)), nil
}

func (s seal) mac(body string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(body))
	return mac.Sum(nil)
}

// open reads a token of sign. With auth.ErrExpired the claims are true and over.
func (s seal) open(token string) (c claims, err error) {
	if token == "" {
		return c, auth.ErrMissing
	}
	body, signature, ok := strings.Cut(token, ".")
	sum, err := base64url.DecodeString(signature)
	if !ok || err != nil || len(token) > maxToken {
		return c, auth.ErrMalformed
	}
	if !hmac.Equal(sum, s.mac(body)) {
		return c, auth.ErrSignature
	}
	b, err := base64url.DecodeString(body)
	if err != nil {
		return c, auth.ErrMalformed
	}
	if err := json.Unmarshal(b, &c); err != nil || auth.CheckMember(c.Member) != nil {
		return claims{}, auth.ErrMalformed
	}
	if time.Now().After(time.Unix(c.Ends, 0).Add(leeway)) {
		return c, auth.ErrExpired
	}
	return c, nil
}
