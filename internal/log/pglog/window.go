package pglog

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/internal/log"
)

// beginning is the snapshot in which no transaction is visible.
const beginning = "1:1:"

// unknown is the floor of a snapshot that bounds no ids.
const unknown = -1

// covered returns the snapshot whose rows are behind a position.
func covered(p log.Position) string {
	if p.From == "" {
		return beginning
	}
	return p.From
}

// window is the rows between two snapshots, up to the id end. Until it is opened,
// to is "".
type window struct {
	from, to, server string
	since            since // from
	floor, end       int64
	last             int64 // rows up to this id are done
}

// since describes the transactions that a snapshot does not show: those that began after it,
// from the xid first on, and the array of those that were running.
type since struct {
	first, running string
	bounded        bool // ids of the first are above the highest assigned one
}

// windowAt returns the window of a position, or the next one.
func windowAt(p log.Position) (window, error) {
	w := window{from: covered(p), to: p.To, server: p.Server, floor: p.Floor, end: p.End, last: p.ID}
	var err error
	if w.since, err = parseSnapshot(w.from); err != nil {
		return w, err
	}
	known := w.since.bounded
	if w.to == "" {
		w.end, w.last = 0, 0
	} else if !known {
		to, err := parseSnapshot(w.to)
		if err != nil {
			return w, err
		}
		known = to.bounded // it was opened with a floor found there
	}
	switch {
	case w.from == beginning:
		w.floor = 0
	case w.floor <= 0 || !known:
		w.floor = unknown
	}
	return w, nil
}

// position returns the window's position.
func (w *window) position() log.Position {
	if w.to == "" {
		return log.Position{From: w.from, Floor: max(w.floor, 0), Server: w.server}
	}
	return w.after(w.last)
}

// after returns the position behind row id; behind the last row the window is closed.
func (w *window) after(id int64) log.Position {
	if id >= w.end {
		return w.closed()
	}
	return log.Position{From: w.from, To: w.to, Floor: max(w.floor, 0), End: w.end, ID: id, Server: w.server}
}

// closed returns the position behind the window.
func (w *window) closed() log.Position {
	p := log.Position{From: w.to, Server: w.server}
	if to, err := parseSnapshot(w.to); err == nil && to.bounded {
		p.Floor = w.end
	}
	return p
}

// maxUnlisted is the most transactions added to a snapshot.
const maxUnlisted = 1000

// listed returns a snapshot that bounds ids. The xmax of a server's snapshot follows the newest
// transaction that has ended, so transactions behind it may have begun long ago, and taken ids.
// They are listed as running, which they are in either form, and with them next, the first that
// had not begun. It returns false when there are too many.
func listed(snapshot string, next uint64) (string, bool) {
	parts := strings.SplitN(snapshot, ":", 3)
	if len(parts) != 3 {
		return snapshot, false
	}
	xmax, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil || next < xmax || next-xmax > maxUnlisted || next > math.MaxInt64 {
		return snapshot, false
	}
	out := append([]byte(parts[0]), ':')
	out = strconv.AppendUint(out, next+1, 10)
	out = append(append(out, ':'), parts[2]...)
	for xid := xmax; xid <= next; xid++ {
		if out[len(out)-1] != ':' {
			out = append(out, ',')
		}
		out = strconv.AppendUint(out, xid, 10)
	}
	return string(out), true
}

// parseSnapshot reads a pg_snapshot "xmin:xmax:xip,xip". The transaction before xmax is running
// only in the snapshots of listed: in a server's own it has ended.
func parseSnapshot(s string) (since, error) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 {
		return since{}, fmt.Errorf("pglog: %q is no snapshot", s)
	}
	out := since{first: parts[1], running: "{" + parts[2] + "}"}
	cut := strings.LastIndexByte(parts[2], ',')
	last, err := strconv.ParseUint(parts[2][cut+1:], 10, 64)
	if err == nil && parts[1] == strconv.FormatUint(last+1, 10) {
		out = since{first: parts[2][cut+1:], running: "{" + parts[2][:max(cut, 0)] + "}", bounded: true}
	}
	return out, nil
}

// none is the array of no transactions.
const none = "{}"

// Behind returns the parameters of backlog.sql for a position: the covered snapshot, and the
// window of the position.
func Behind(p log.Position) ([]any, error) {
	w, err := windowAt(p)
	if err != nil {
		return nil, err
	}
	if w.to == "" {
		return []any{w.since.first, w.since.running, w.since.first, none, beginning, int64(0), int64(0), int64(0)}, nil
	}
	to, err := parseSnapshot(w.to)
	return []any{to.first, to.running, w.since.first, w.since.running, w.to, w.floor, w.last, w.end}, err
}
