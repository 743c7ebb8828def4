package challenger

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
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
