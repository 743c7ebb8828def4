package sse

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Event is an event as clients get it.
type Event struct {
	// Name is the type of the event; "" is a client's "message".
	Name string
	// ID becomes the client's Last-Event-ID; "" leaves that unchanged.
	ID string
	// Data is text in UTF-8. A client sees each CRLF and CR in it as LF, since the
	// format has only lines.
	Data []byte
	// At is the time of the event's cause, such as the time of a commit; zero when it is
	// not known. It is not sent to clients: [Config.Delivered] gets the delay since
	// then. It is kept to the millisecond.
	At time.Time
}

// encode writes an event in the WHATWG event stream format. It refuses a name with
// CR or LF, and an id with CR, LF or NUL: with either the author of the text could
// write fields or events of its own.
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

// appendID adds the id field. It is the last of a frame, so that a connection can
// replace it by its own.
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

// retryFrame sets the clients' time before they come back.
func retryFrame(after time.Duration) []byte {
	ms := int64(math.Ceil(float64(after) / float64(time.Millisecond)))
	return []byte("retry: " + strconv.FormatInt(ms, 10) + "\n\n")
}

// pingFrame is an event rather than a comment, so that a page can notice a silent
// connection.
const pingFrame = "event: ping\ndata:\n\n"

const evictedFrame = "event: evicted\ndata: {\"reason\":\"too many streams\"}\n\n"

// fallbackFrame gives the address of the inbox, which has the events of the stream.
func fallbackFrame(after time.Duration, inbox string) []byte {
	return fmt.Appendf(retryFrame(after), "event: fallback\ndata: {\"inbox\":%s}\n\n", quote(inbox))
}

// gapFrame says how many events of a name a replay has left out.
func gapFrame(name string, count int) []byte {
	return fmt.Appendf(nil, "event: gap\ndata: {\"event\":%s,\"count\":%d}\n\n", quote(name), count)
}
