package pgbus

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/log/logsub"
)

const (
	// tick is the least time between two notifications of one process. NOTIFY takes a
	// database-wide lock while it commits, so its rate must not follow the rate of messages.
	tick = 5 * time.Millisecond
	// maxText is the server's limit.
	maxText = 7999
)

// notices are the messages that processes send each other by NOTIFY.
type notices struct {
	id string // so that a process does not wake itself a second time
}

func newNotices() notices { return notices{rand.Text()} }

// text encodes a change: the sender, "g" when a group has changed, and the lanes, or "*" if
// there are too many.
func (n notices) text(c logsub.Change) string {
	var out strings.Builder
	out.WriteString(n.id)
	if c.Groups {
		out.WriteString(" g")
	}
	short := out.Len()
	for _, lane := range c.Lanes {
		out.WriteByte(' ')
		out.WriteString(strconv.Itoa(lane))
	}
	if out.Len() > maxText {
		return out.String()[:short] + " *"
	}
	return out.String()
}

// waker is the target of notifications: a hub.
type waker interface {
	Wake(lanes ...int)
	WakeGroups()
}

// hear acts on a notification. An empty text, as after a lost connection, or a malformed one
// wakes all readers and members.
func (n notices) hear(text string, w waker) {
	sender, words, _ := strings.Cut(text, " ")
	if sender == n.id {
		return
	}
	words = strings.TrimSpace(words)
	var lanes []int
	for _, word := range strings.Fields(words) {
		if word == "g" {
			w.WakeGroups()
			continue
		}
		lane, err := strconv.Atoi(word)
		if err != nil {
			words = ""
			break
		}
		lanes = append(lanes, lane)
	}
	switch {
	case words == "":
		w.WakeGroups()
		w.Wake()
	case len(lanes) > 0:
		w.Wake(lanes...)
	}
}
