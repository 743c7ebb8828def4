package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// MinSecret is the least length of a secret in bytes, as the strength of
// HMAC-SHA256 needs.
const MinSecret = 32

// Ring holds the secrets that keys are derived from: the first signs, all
// verify. A new secret is put first and the old one stays behind it until the
// last token it signed has expired.
type Ring struct{ secrets []hidden }

// hidden is a secret that no way of printing shows.
type hidden func() []byte

func hide(b []byte) hidden { return func() []byte { return b } }

// NewRing makes a Ring. Each secret needs at least 32 bytes of random
// origin.
func NewRing(secrets ...string) (*Ring, error) {
	if len(secrets) == 0 {
		return nil, errors.New("token: no secret; give at least one, such as the output of: openssl rand -hex 32")
	}
	r := &Ring{secrets: make([]hidden, len(secrets))}
	for i, s := range secrets {
		if len(s) < MinSecret {
			return nil, fmt.Errorf("token: secret %d of %d is %d bytes long; use at least %d, such as the output of: openssl rand -hex 32", i+1, len(secrets), len(s), MinSecret)
		}
		r.secrets[i] = hide([]byte(s))
	}
	return r, nil
}

// Key is a secret for one purpose. Its id can be published.
type Key struct {
	id     [4]byte
	Name   string // the id in hexadecimal
	Secret hidden
}

// Keys derives those of a purpose, so that nothing made for one purpose is
// valid for another.
func Keys(r *Ring, purpose string) []*Key {
	keys := make([]*Key, len(r.secrets))
	for i, s := range r.secrets {
		k := &Key{Secret: hide(Sum(s(), "millrace/queue/"+purpose))}
		copy(k.id[:], Sum(k.Secret(), "id"))
		k.Name = hex.EncodeToString(k.id[:])
		keys[i] = k
	}
	return keys
}

// Sum is HMAC-SHA256.
func Sum(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
