package token

import (
	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
)

// The limits, for tests.
const (
	MaxToken  = tokens.MaxToken
	MinSecret = seal.MinSecret
	PassLasts = seal.PassLasts
	Skew      = tokens.Skew
)
