package memsse

import (
	"context"
	"fmt"
	"strconv"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse/driver"
)

func invalid(format string, args ...any) error {
	return fault.MarkPermanent(fmt.Errorf("memsse: "+format, args...))
}

func unasked(err error) error {
	return fault.MarkTransient(fmt.Errorf("memsse: %w", err))
}

func check(r driver.Rules, conn driver.Conn) error {
	switch {
	case r.Max < 1 || r.Lifetime <= 0:
		return invalid("the rules %+v have no cap or no lifetime", r)
	case conn.Member == "" || len(conn.Member) > driver.MaxMember:
		return invalid("a member has %d bytes, not 1 to %d", len(conn.Member), driver.MaxMember)
	case driver.Instance(conn.ID) == "" || len(conn.ID) > driver.MaxToken:
		return invalid("the connection id %q is not an instance, a dot and a number, or longer than %d bytes", conn.ID, driver.MaxToken)
	case conn.Token == "" || len(conn.Token) > driver.MaxToken:
		return invalid("a token has %d bytes, not 1 to %d", len(conn.Token), driver.MaxToken)
	}
	return nil
}

func some(ctx context.Context, conns []driver.Conn) error {
	if err := ctx.Err(); err != nil {
		return unasked(err)
	}
	if len(conns) > driver.MaxConns {
		return invalid("%d connections in a call; at most %d", len(conns), driver.MaxConns)
	}
	return nil
}

func parseCursor(from string) (uint64, error) {
	if from == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(from, 36, 64)
	if err != nil {
		return 0, invalid("the sweep's cursor %q is not one of ours", from)
	}
	return n, nil
}

func formatCursor(n uint64) string { return strconv.FormatUint(n, 36) }
