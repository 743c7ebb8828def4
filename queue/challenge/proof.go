package challenge

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"math/bits"
	"net/http"
	"strconv"
	"strings"
)

// proven checks the numbers of a proof.
func proven(puzzle, proof string, bits int) bool {
	seed := sha256.Sum256([]byte(puzzle))
	block := make([]byte, len(seed)+8)
	copy(block, seed[:])
	if strings.Count(proof, ",") != proofs-1 {
		return false
	}
	i := uint32(0)
	for text := range strings.SplitSeq(proof, ",") {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return false
		}
		binary.BigEndian.PutUint32(block[len(seed):], i)
		binary.BigEndian.PutUint32(block[len(seed)+4:], uint32(n))
		if zeros(sha256.Sum256(block)) < bits {
			return false
		}
		i++
	}
	return true
}

// zeros are the leading ones of a hash, of its first 32 bits.
func zeros(sum [sha256.Size]byte) int { return bits.LeadingZeros32(binary.BigEndian.Uint32(sum[:])) }

//go:embed solver.js
var solver []byte

// Solver serves the script that a browser solves the puzzles with, in a worker of its
// own. It changes with releases only, and caches may keep it for a day.
func (c *Challenge) Solver() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/javascript; charset=utf-8")
		h.Set("Cache-Control", "public, max-age=86400")
		h.Set("Content-Length", strconv.Itoa(len(solver)))
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodHead {
			_, _ = w.Write(solver) // the visitor may be gone
		}
	})
}
