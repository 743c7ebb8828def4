package kafkabus

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// counts are the traces of crashes in a partition's commit.
type counts struct {
	starts int   // since the offset moved last
	alone  int64 // the message that is, or was, handled alone
	times  int   // how often it was; 0: no message is
}

// note is the metadata of a commit, if there is any: in the form donePrefix and the offsets
// as package prefix writes them, or with counts in the form countedPrefix
// starts,alone,times:offsets. A release that does not know the second form ignores it, and
// delivers finished messages again. Kafka keeps 4,096 bytes (offset.metadata.max.bytes).
type note struct {
	counts
	done map[int64]struct{} // behind the offset
}

const (
	donePrefix    = "millrace/1:"
	countedPrefix = "millrace/2:"
	maxNote       = 4000
)

// noteOf writes a note beside an offset.
func noteOf(at int64, c counts, done []int64) string {
	head := donePrefix
	switch {
	case c.starts > 0 || c.times > 0:
		head = fmt.Sprintf("%s%d,%d,%d:", countedPrefix, c.starts, c.alone, c.times)
	case len(done) == 0:
		return ""
	}
	return head + kit.EncodeDone(at, slices.Clone(done), maxNote-len(head))
}

// noteIn reads the note of a commit, which another program may have written.
func noteIn(c commit) (n note, err error) {
	list, ours := strings.CutPrefix(c.note, donePrefix)
	if rest, counted := strings.CutPrefix(c.note, countedPrefix); counted {
		var head string
		head, list, ours = strings.Cut(rest, ":")
		var is counts
		if _, err := fmt.Sscanf(head, "%d,%d,%d", &is.starts, &is.alone, &is.times); err != nil || !ours || is.starts < 0 || is.times < 0 {
			return n, errNote
		}
		n.counts = is
	}
	if ours {
		n.done, err = kit.DecodeDone(c.offset, list)
	}
	return n, err
}

var errNote = errors.New("kafkabus: not a note of a commit")
