package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Call is one line of the log. Sent is 0 when the caller did not state it, Status
// while the call is not answered and when its connection was broken on purpose.
type Call struct {
	Arrival  time.Duration
	Sent     time.Duration
	Priority string // high, low or none
	Status   int
	Instance string // may be empty
}

// logHead is the first line of a log, with the columns and their order.
const logHead = "#arrival_ns\tsent_ns\tpriority\tstatus\tinstance\n"

// WriteLog writes the calls of the last time, oldest first, or all that the log still
// has when last is 0: one line per call with tabs between the columns. Calls still
// arrive meanwhile.
func (u *Upstream) WriteLog(w io.Writer, last time.Duration) error {
	after := time.Duration(-1 << 62)
	if last > 0 {
		after = u.cfg.Clock() - last
	}
	if _, err := io.WriteString(w, logHead); err != nil {
		return fmt.Errorf("upstream: write the log: %w", err)
	}
	var buf []byte
	return u.gate.read(after, func(records []record, names []string) error {
		buf = buf[:0]
		for _, r := range records {
			buf = fmt.Appendf(buf, "%d\t%d\t%s\t%d\t%s\n", int64(r.arrival), int64(r.sent), r.class, r.status, names[r.instance])
		}
		if _, err := w.Write(buf); err != nil {
			return fmt.Errorf("upstream: write the log: %w", err)
		}
		return nil
	})
}

// ReadLog reads the output of [Upstream.WriteLog] and GET /_/log. A log that ends in
// the middle of a line is an error, so that a cut download is noticed.
func ReadLog(r io.Reader) ([]Call, error) {
	br := bufio.NewReader(r)
	head, err := br.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("upstream: read a log: %w", err)
	}
	if head != logHead {
		return nil, fmt.Errorf("upstream: read a log: it begins with %.60q, not %q", head, logHead)
	}
	var calls []Call
	for n := 2; ; n++ {
		line, err := br.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF) && line == "":
			return calls, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("upstream: read a log: line %d is cut off: %.80q", n, line)
		case err != nil:
			return nil, fmt.Errorf("upstream: read a log: line %d: %w", n, err)
		}
		c, err := parseCall(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("upstream: read a log: line %d: %w", n, err)
		}
		calls = append(calls, c)
	}
}

func parseCall(line string) (c Call, err error) {
	f := strings.Split(line, "\t")
	if len(f) != 5 {
		return c, fmt.Errorf("%d columns in %.80q, want 5", len(f), line)
	}
	arrival, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return c, fmt.Errorf("arrival: %w", err)
	}
	sent, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return c, fmt.Errorf("sent: %w", err)
	}
	status, err := strconv.ParseUint(f[3], 10, 16)
	if err != nil {
		return c, fmt.Errorf("status: %w", err)
	}
	// The name from the table, so that a long log does not keep its lines.
	p := classOf(f[2])
	if p.String() != f[2] {
		return c, fmt.Errorf("priority %.40q is none of high, low and none", f[2])
	}
	if !validInstance(f[4]) {
		return c, fmt.Errorf("instance %.80q is no name", f[4])
	}
	return Call{
		Arrival: time.Duration(arrival), Sent: time.Duration(sent), Priority: p.String(),
		Status: int(status), Instance: strings.Clone(f[4]),
	}, nil
}
