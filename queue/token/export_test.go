package token

// The limits, for tests.
const (
	MaxToken  = maxToken
	MinSecret = minSecret
	PassLasts = passLasts
	Skew      = skew
)
