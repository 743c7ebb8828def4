package counter

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-go/millrace/fault"
)

var counterName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// MaxKey is how many bytes a key may have.
const MaxKey = 200

// MaxN is by how much one call may change a count, and MinN is its opposite. Sums
// stay within what Redis and the databases count with.
const (
	MaxN = 1 << 40
	MinN = -MaxN
)

// CheckName refuses a counter's name that would be unfit for keys and labels.
func CheckName(name string) error {
	if !counterName.MatchString(name) {
		return fmt.Errorf("counter: the name %.60q is unfit; use lower-case letters, digits, _ and -, at most 40, a letter first", name)
	}
	return nil
}

// CheckChange refuses what no store takes. Its errors are permanent.
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
