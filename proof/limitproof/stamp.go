package limitproof

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

// unsent holds the place of the time in a request's head: as many digits as any
// has.
const unsent = "0000000000000000000"

// stamper is a connection that writes the send time into the head of each call. The
// rate limiter's transport wraps it, so that it stamps under the limiter's lock,
// after the permit was checked and right before the kernel gets the bytes.
type stamper struct {
	net.Conn
	written *atomic.Int64
}

func (s *stamper) Write(b []byte) (int, error) {
	const field = upstream.HeaderSentAt + ": "
	i := bytes.Index(b, []byte(field+unsent))
	if i < 0 {
		return s.Conn.Write(b)
	}
	head := bytes.Clone(b) // a writer must not change its argument
	copy(head[i+len(field):], fmt.Appendf(nil, "%0*d", len(unsent), int64(boottime.Now())))
	n, err := s.Conn.Write(head)
	if n > 0 {
		s.written.Add(1)
	}
	return n, err
}

// dialer makes connections that stamp and count their writes.
func dialer(written *atomic.Int64) func(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &stamper{Conn: c, written: written}, nil
	}
}
