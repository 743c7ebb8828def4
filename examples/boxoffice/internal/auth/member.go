package auth

import (
	"errors"
	"regexp"
)

// ErrMember is returned for an id that no member can have.
var ErrMember = errors.New("a member's id is 1 to 64 letters, digits, dots, dashes and underscores")

var memberID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckMember says what is wrong with a member's id. The letters are those that
// need no escaping in a header, a URL or a log line.
func CheckMember(id string) error {
	if !memberID.MatchString(id) {
		return ErrMember
	}
	return nil
}
