package sse

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Event is what a client sees.
type Event struct {
	// Name is the type of the event; "" is a client's "message".
	Name string
	// ID becomes the client's Last-Event-ID; "" leaves that as it is.
	ID string
	// Data is text in UTF-8. A client sees each CRLF and CR in it as LF, since the
	// format knows lines only.
	Data []byte
	// At is when what it tells of happened, such as the time of a commit; zero when that
	// is not known. It is not sent to clients: [Config.Delivered] is told how long after
	// it they had the event. It is kept to the millisecond.
	At time.Time
}

// Encode writes an event as the WHATWG event stream format has it. It refuses a
// name with CR or LF, and an id with CR, LF or NUL: either would let whoever
// chooses it write fields or events of their own.
func Encode(e Event) ([]byte, error) { return encode(e.Name, e.ID, e.Data) }

func encode(name, id string, data []byte) ([]byte, error) {
	if strings.ContainsAny(name, "\r\n") {
		return nil, invalid("the event name %q has a line break", name)
	}
	if strings.ContainsAny(id, "\r\n\x00") {
		return nil, invalid("the event id %q has a line break or a NUL", id)
	}
	b := make([]byte, 0, len("event: \ndata: \nid: \n\n")+len(name)+len(data)+len(id)+bytes.Count(data, []byte{'\n'})*len("data: "))
	if name != "" {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	for {
		line, rest, more := cutLine(data)
		b = append(append(append(b, "data: "...), line...), '\n')
		if data = rest; !more {
			break
		}
	}
	return append(appendID(b, id), '\n'), nil
}

// appendID adds the id field. It is the last of a frame, so that a connection
// can put its own in place.
func appendID(b []byte, id string) []byte {
	if id == "" {
		return b
	}
	return append(append(append(b, "id: "...), id...), '\n')
}

// cutLine cuts at the first CRLF, CR or LF.
func cutLine(data []byte) (line, rest []byte, found bool) {
	i := bytes.IndexAny(data, "\r\n")
	if i < 0 {
		return data, nil, false
	}
	end := i + 1
	if data[i] == '\r' && end < len(data) && data[end] == '\n' {
		end++
	}
	return data[:i], data[end:], true
}

// retryFrame tells clients how long to wait before they come back.
func retryFrame(after time.Duration) []byte {
	ms := int64(math.Ceil(float64(after) / float64(time.Millisecond)))
	return []byte("retry: " + strconv.FormatInt(ms, 10) + "\n\n")
}

// pingFrame is an event rather than a comment, so that a page can see that
// nothing has come for too long.
const pingFrame = "event: ping\ndata:\n\n"

const evictedFrame = "event: evicted\ndata: {\"reason\":\"too many streams\"}\n\n"

// fallbackFrame says where what the stream would have told can be read.
func fallbackFrame(after time.Duration, inbox string) []byte {
	return fmt.Appendf(retryFrame(after), "event: fallback\ndata: {\"inbox\":%s}\n\n", quote(inbox))
}

// gapFrame says how many events of a name a replay has left out.
func gapFrame(name string, count int) []byte {
	return fmt.Appendf(nil, "event: gap\ndata: {\"event\":%s,\"count\":%d}\n\n", quote(name), count)
}
