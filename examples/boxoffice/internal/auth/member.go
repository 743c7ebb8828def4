package auth

import (
	"errors"
	"regexp"
)

// ErrMember is returned for an id that no member can have.
var ErrMember = errors.New("a member's id is 1 to 64 letters, digits, dots, dashes and underscores")

var memberID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckMember returns an error for a malformed member id. The permitted letters need
// no escaping in a header, a URL or a log line.
func CheckMember(id string) error {
	if !memberID.MatchString(id) {
		return ErrMember
	}
	return nil
}
