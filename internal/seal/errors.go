package seal

import "errors"

// The reasons to refuse a token, a ticket or a pass. Test for them with errors.Is;
// [Reason] gives the word that answers carry.
var (
	ErrMissing   error = refusal("missing")
	ErrMalformed error = refusal("malformed")       // not in the form of a token, or too large
	ErrAlgorithm error = refusal("wrong_algorithm") // another one than HS256, "none" included
	ErrType      error = refusal("wrong_type")      // a token of another kind, issuer or audience
	ErrSignature error = refusal("bad_signature")   // changed, forged, or of a key that is not in the ring
	ErrExpired   error = refusal("expired")
	ErrNotYet    error = refusal("not_yet_valid")
	ErrEvent     error = refusal("wrong_event")
	ErrUser      error = refusal("wrong_user")
)

type refusal string

func (r refusal) Error() string { return "token: " + string(r) }

// Reason is the word for a refusal, such as "expired"; empty for other errors. It
// holds nothing that a client may not know.
func Reason(err error) string {
	var r refusal
	if errors.As(err, &r) {
		return string(r)
	}
	return ""
}
