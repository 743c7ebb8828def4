package kafkabus

import (
	"strings"

	"github.com/millrace-go/millrace/internal/prefix"
)

// A commit has a note of what is done behind its offset, where there is anything: notePrefix
// and the offsets as package prefix writes them. Kafka keeps 4,096 bytes
// (offset.metadata.max.bytes).
const (
	notePrefix = "millrace/1:"
	maxNote    = 4000
)

func noteOf(at int64, done []int64) string {
	return notePrefix + prefix.Encode(at, done, maxNote-len(notePrefix))
}

// doneIn reads the note of a commit, which may be another program's.
func doneIn(c commit) (map[int64]struct{}, error) {
	text, ours := strings.CutPrefix(c.note, notePrefix)
	if !ours {
		return nil, nil
	}
	return prefix.Decode(c.offset, text)
}
