package driver

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-go/millrace/fault"
)

var counterName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// MaxKey is the maximal length of a key, in bytes.
const MaxKey = 200

// MaxN is the largest change of one call, and MinN is its opposite. Sums stay within the
// numbers of Redis and the databases.
const (
	MaxN = 1 << 40
	MinN = -MaxN
)

// CheckName refuses a counter's name that is unfit for keys and labels.
func CheckName(name string) error {
	if !counterName.MatchString(name) {
		return fmt.Errorf("counter: the name %.60q is unfit; use lower-case letters, digits, _ and -, at most 40, a letter first", name)
	}
	return nil
}

// CheckChange refuses values that no store accepts. Its errors are permanent.
func CheckChange(key string, n int64) error {
	var what string
	switch {
	case key == "":
		what = "the key is empty"
	case len(key) > MaxKey:
		what = fmt.Sprintf("the key has %d bytes; use at most %d", len(key), MaxKey)
	case !utf8.ValidString(key):
		what = fmt.Sprintf("the key %.60q is no UTF-8", key)
	case strings.ContainsFunc(key, unicode.IsControl):
		what = fmt.Sprintf("the key %.60q has control characters", key)
	case n > MaxN || n < MinN:
		what = fmt.Sprintf("%d is too much at once; add at most %d", n, int64(MaxN))
	default:
		return nil
	}
	return fault.MarkPermanent(fmt.Errorf("counter: %s", what))
}
