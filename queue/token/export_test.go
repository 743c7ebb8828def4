package token

import "github.com/millrace-go/millrace/internal/seal"

// The limits, for tests.
const (
	MaxToken  = maxToken
	MinSecret = seal.MinSecret
	PassLasts = seal.PassLasts
	Skew      = skew
)
