package redisratelimit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// FuzzGrant: only an answer of the right length, with known reasons, grants anything.
func FuzzGrant(f *testing.F) {
	f.Add([]byte(doubles{}.and(1_000_000, 5, 3, 20_000, 7, 1, 0, 0)), uint16(1))
	f.Add([]byte(doubles{}.and(1, 0, 0, 0, 0, 0, 99, 0)), uint16(1))
	f.Add([]byte(doubles{}.and(1, 0, 0, 0, 0)), uint16(0))
	f.Add([]byte("short"), uint16(3))
	f.Fuzz(func(t *testing.T, answer []byte, runs uint16) {
		n := int(runs % (maxRuns + 1))
		g, ok := grantOf(string(answer), n)
		if !ok {
			if len(g.Runs) != 0 || g.Remaining != [2]int{} {
				t.Fatalf("refused, and grants %+v", g)
			}
			return
		}
		if len(g.Runs) != n || len(answer) != (5+3*n)*double {
			t.Fatalf("%d bytes grant %d runs of %d", len(answer), len(g.Runs), n)
		}
		known := map[driver.Reason]bool{}
		for _, r := range reasons {
			known[r] = true
		}
		for _, r := range g.Runs {
			require.Truef(t, known[r.Reason], "the reason %v", r.Reason)
		}
	})
}
