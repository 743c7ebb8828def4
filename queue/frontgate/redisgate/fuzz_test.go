package redisgate

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An answer has all of its numbers, or is refused.
func FuzzRound(f *testing.F) {
	var whole []byte
	for _, n := range []float64{7, 1, 1000, 500, 3, 1e15, 500, 1e6} {
		whole = binary.LittleEndian.AppendUint64(whole, math.Float64bits(n))
	}
	f.Add(whole)
	f.Add(whole[:63])
	f.Add(append(whole, 0))
	f.Fuzz(func(t *testing.T, answer []byte) {
		r, ok := roundOf(string(answer))
		require.Equalf(t, (len(answer) == answers*double), ok, "%d bytes", len(answer))
		if !ok && (r.On || r.Assigned != 0 || r.Serving != 0) {
			t.Fatalf("refused, and says %+v", r)
		}
		if ok && string(answer) == string(whole) && (r.Epoch != 7 || !r.On || r.Assigned != 1000 || r.Serving != 500 || r.Moved != 500 || r.Next != time.Second) {
			t.Fatalf("%+v", r)
		}
	})
}
