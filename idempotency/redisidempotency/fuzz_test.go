package redisidempotency

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/idempotency/driver"
)

// FuzzClaim: a script's answer is a claim in one of its states, or an error. An unknown answer
// never lets a caller go on.
func FuzzClaim(f *testing.F) {
	f.Add("key", "claimed\x007")
	f.Add("key", "claimed")
	f.Add("key", "claimed\x00x")
	f.Add("key", "done\x00{}")
	f.Add("key", "mismatch")
	f.Add("key", "taken\x005000")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, key, text string) {
		answer := strings.Split(text, "\x00")
		c, err := claimOf(key, answer)
		require.Equalf(t, key, c.Key, "%q is a claim of %q", answer, c.Key)
		if err != nil {
			return
		}
		switch {
		case c.State == driver.Claimed && answer[0] == "claimed" && c.Result == nil:
		case c.State == driver.Done && answer[0] == "done" && string(c.Result) == answer[1]:
		case c.State == driver.Mismatch && answer[0] == "mismatch":
		case c.State == driver.Taken && c.Token == 0:
		default:
			t.Fatalf("%q is read as %+v", answer, c)
		}
	})
}

// FuzzNamed: different keys have different names, each within its length, even if one key is
// made to look like the other's name.
func FuzzNamed(f *testing.F) {
	long := strings.Repeat("a", maxKey+1)
	f.Add(long, named("", long))
	f.Add("a", "b")
	f.Add(strings.Repeat("a", maxKey), strings.Repeat("a", maxKey-1)+"b")
	f.Fuzz(func(t *testing.T, a, b string) {
		na, nb := named("p:", a), named("p:", b)
		if (na == nb) != (a == b) || len(na) > len("p:")+maxKey || !strings.HasPrefix(na, "p:") {
			t.Fatalf("%q is %q, %q is %q", a, na, b, nb)
		}
		if again := named("", named("", a)); a != named("", a) && again == named("", a) {
			t.Fatalf("the name of %q is its own", a)
		}
	})
}
