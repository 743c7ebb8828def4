package token

import "github.com/millrace-go/millrace/internal/seal"

// The refusals that lead to another page than the rest: a user without a token has to line
// up first, and one whose token has expired has to line up again. Test for them with
// errors.Is; [Reason] tells all refusals apart.
var (
	ErrMissing = seal.ErrMissing
	ErrExpired = seal.ErrExpired
)

// Reason is the word for a refusal, and empty for other errors. It holds nothing that a
// client may not know.
//
//	missing          there is no token
//	malformed        not in the form of a token, or too large
//	wrong_algorithm  another one than HS256, "none" included
//	wrong_type       a token of another kind, issuer or audience
//	bad_signature    changed, forged, or of a key that is not in the ring
//	expired
//	not_yet_valid
//	wrong_event
//	wrong_user
func Reason(err error) string { return seal.Reason(err) }
