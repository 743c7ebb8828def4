package sse

import (
	"net/http"
	"strings"
)

// Cursors say, by event name, which event a client has seen last. Of a name that is
// absent, it has seen none.
type Cursors map[string]string

// maxLastEventID bounds how much is read of the header, which any client can send.
const maxLastEventID = 1024

// maxEventID bounds an event's own id, so that all cursors fit a header.
const maxEventID = 128

// validID says whether an id can be a cursor: visible ASCII except the two
// characters that separate cursors.
func validID(id string) bool {
	if id == "" || len(id) > maxEventID {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c >= 0x7f || c == ';' || c == '=' {
			return false
		}
	}
	return true
}

// formatID joins cursors, given in the order of names, to an id line: that of the
// first name stands plain, the others follow as ";name=id".
func formatID(names, ids []string) string {
	var b strings.Builder
	for i, id := range ids {
		switch {
		case id == "":
		case i == 0:
			b.WriteString(id)
		default:
			b.WriteString(";" + names[i] + "=" + id)
		}
	}
	return b.String()
}

// parseID reads ids from formatID, strictly: unknown and repeated names, and names
// out of order, are refused.
func parseID(names []string, s string) ([]string, bool) {
	if s == "" || len(s) > maxLastEventID {
		return nil, false
	}
	parts := strings.Split(s, ";")
	ids := make([]string, len(names))
	if ids[0] = parts[0]; ids[0] != "" && !validID(ids[0]) {
		return nil, false
	}
	at := 0
	for _, part := range parts[1:] {
		name, id, _ := strings.Cut(part, "=")
		for at++; at < len(names) && names[at] != name; at++ {
		}
		if at >= len(names) || !validID(id) {
			return nil, false
		}
		ids[at] = id
	}
	return ids, true
}

// cursorsOf reads a client's cursors from the header, or for the first request of a
// client that cannot set it, from the query parameter lastEventId. It is nil for a
// client that has seen nothing.
func (h *Hub) cursorsOf(r *http.Request) []string {
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("lastEventId")
	}
	ids, ok := parseID(h.cfg.Cursors, strings.Clone(last)) // the stream keeps no text of the request
	if !ok {
		return nil
	}
	return ids
}

func cursors(names, ids []string) Cursors {
	c := Cursors{}
	for i, id := range ids {
		if id != "" {
			c[names[i]] = id
		}
	}
	return c
}
