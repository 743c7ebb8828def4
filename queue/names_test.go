package queue

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/driver"
)

func TestEventIDs(t *testing.T) {
	for _, good := range []string{"1", "show-1", "공연-7", "a:b/c?d=e", strings.Repeat("x", driver.MaxEvent), "é"} {
		assert.NoErrorf(t, checkEvent(good), "%q", good)
	}
	for _, bad := range []string{
		"", strings.Repeat("x", driver.MaxEvent+1), "a{b", "a}b", "{}", "a b", " ", "a\tb", "a\nb", "a\x00b", "a\x7fb",
		"a\u00a0b", "a\u2028b", "a\u0085b", "\xff", "공연\xff",
	} {
		err := checkEvent(bad)
		if !errors.Is(err, ErrInvalid) || fault.Of(err) != fault.Permanent {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestUserIDs(t *testing.T) {
	for _, good := range []string{"1", "a b{c}", "\xff", strings.Repeat("x", driver.MaxUser)} {
		assert.NoErrorf(t, checkUser(good), "%q", good)
	}
	for _, bad := range []string{"", strings.Repeat("x", driver.MaxUser+1)} {
		if err := checkUser(bad); !errors.Is(err, ErrInvalid) || fault.Of(err) != fault.Permanent {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

func TestEntryIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epoch, order := rapid.Uint64().Draw(t, "epoch"), rapid.Int64Range(1, math.MaxInt64).Draw(t, "order")
		id := entryID(epoch, order)
		if e, o, ok := parseEntry(id); !ok || e != epoch || o != order {
			t.Fatalf("%s is %d, %d, %v", id, e, o, ok)
		}
		if other := rapid.String().Draw(t, "text"); other != id {
			if e, o, ok := parseEntry(other); ok && entryID(e, o) != other {
				t.Fatalf("%q is taken for %s", other, entryID(e, o))
			}
		}
	})
	for _, bad := range []string{"", "-", "1", "1-", "-1", "1-0", "1--1", "01-1", "1-01", "+1-1", "1-+1", "A-1", "1-1-1", " 1-1", "zzzzzzzzzzzzzz-1"} {
		if _, _, ok := parseEntry(bad); ok {
			t.Errorf("%q is an entry", bad)
		}
	}
}
