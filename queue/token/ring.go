package token

import "github.com/millrace-go/millrace/internal/seal"

// Ring holds the secrets that keys are derived from: the first signs, all
// verify. A new secret is put first and the old one stays behind it until the
// last token it signed has expired.
type Ring = seal.Ring

// NewRing makes a Ring. Each secret needs at least 32 bytes of random
// origin.
func NewRing(secrets ...string) (*Ring, error) { return seal.NewRing(secrets...) }
