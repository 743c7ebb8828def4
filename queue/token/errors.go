package token

import "github.com/millrace-go/millrace/internal/seal"

// The reasons to refuse a token or a pass. Test for them with errors.Is; [Reason] gives the
// word that answers carry.
var (
	ErrMissing   = seal.ErrMissing
	ErrMalformed = seal.ErrMalformed // not in the form of a token, or too large
	ErrAlgorithm = seal.ErrAlgorithm // another one than HS256, "none" included
	ErrType      = seal.ErrType      // a token of another kind, issuer or audience
	ErrSignature = seal.ErrSignature // changed, forged, or of a key that is not in the ring
	ErrExpired   = seal.ErrExpired
	ErrNotYet    = seal.ErrNotYet
	ErrEvent     = seal.ErrEvent
	ErrUser      = seal.ErrUser
)

// Reason is the word for a refusal, such as "expired"; empty for other errors. It
// holds nothing that a client may not know.
func Reason(err error) string { return seal.Reason(err) }
