package ssebench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/millrace-go/millrace/proof/part"
)

// crowd is a process with many clients, which count events and look at nothing
// else, as cheaply as they can.
type crowd struct {
	addr    string
	clients []client
	marks   atomic.Int64 // events that all of them have got
	target  atomic.Int64 // of marks, that is waited for
	reached chan struct{}
	greeted atomic.Int64 // clients that have got something
	ended   atomic.Int64 // clients whose stream was ended
	reading sync.WaitGroup
}

type client struct {
	conn    *net.TCPConn
	greeted bool
	pings   atomic.Int32
}

func newCrowd(addr, conns string) (*crowd, error) {
	n, err := strconv.Atoi(conns)
	if err != nil {
		return nil, err
	}
	c := &crowd{addr: addr, clients: make([]client, n), reached: make(chan struct{}, 1)}
	c.target.Store(1 << 62)
	return c, nil
}

func (c *crowd) close() {
	for i := range c.clients {
		if conn := c.clients[i].conn; conn != nil {
			_ = conn.Close()
		}
	}
	c.reading.Wait()
}

func (c *crowd) answer(ctx context.Context, line string) (string, error) {
	verb, arg, _ := strings.Cut(line, " ")
	n, err := strconv.ParseInt("0"+arg, 10, 64)
	if err != nil {
		return "", err
	}
	switch verb {
	case "open":
		return "", c.open(ctx)
	case "greeted":
		for end := time.Now().Add(time.Duration(n) * time.Millisecond); time.Now().Before(end) && int(c.greeted.Load()) < len(c.clients); {
			time.Sleep(time.Millisecond)
		}
		return strconv.FormatInt(c.greeted.Load(), 10), nil
	case "wait":
		return "", c.wait(ctx, n)
	case "forget":
		for i := range c.clients {
			c.clients[i].pings.Store(0)
		}
		return "", nil
	case "pings":
		least := c.clients[0].pings.Load()
		for i := range c.clients {
			least = min(least, c.clients[i].pings.Load())
		}
		return fmt.Sprint(least, " ", c.ended.Load()), nil
	}
	return "", fmt.Errorf("what is %q?", line)
}

// dialers is the number of concurrent dialers.
const dialers = 64

// open connects all clients, with the headers of a browser's EventSource.
func (c *crowd) open(ctx context.Context) error {
	var next atomic.Int64
	var failed error
	var fail sync.Once
	var all sync.WaitGroup
	for range dialers {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(c.clients); i = next.Add(1) - 1 {
				if err := c.dial(ctx, &c.clients[i], i); err != nil {
					fail.Do(func() { failed = err })
					return
				}
			}
		})
	}
	all.Wait()
	return failed
}

func (c *crowd) dial(ctx context.Context, who *client, number int64) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	who.conn = conn.(*net.TCPConn)
	if _, err := fmt.Fprintf(conn, "GET /?stream=%s&member=member-%d HTTP/1.1\r\nHost: %s\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\n"+
		"Accept: text/event-stream\r\nAccept-Language: en\r\nCache-Control: no-cache\r\nSec-Fetch-Mode: cors\r\n\r\n", stream, number, c.addr); err != nil {
		return err
	}
	raw, err := who.conn.SyscallConn()
	if err != nil {
		return err
	}
	c.reading.Go(func() {
		c.read(who, raw)
		c.ended.Add(1)
	})
	return nil
}

// readBuffers are few: a client has one only while it reads.
var readBuffers = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

func (c *crowd) read(who *client, raw syscall.RawConn) {
	var failed error
	once := func(fd uintptr) bool {
		buf := readBuffers.Get().(*[]byte)
		defer readBuffers.Put(buf)
		n, err := syscall.Read(int(fd), *buf)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return false
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			failed = err
		case n == 0:
			failed = io.EOF
		default:
			c.count(who, (*buf)[:n])
		}
		return true
	}
	for failed == nil {
		if err := raw.Read(once); err != nil {
			return
		}
	}
}

func (c *crowd) count(who *client, b []byte) {
	if !who.greeted && bytes.IndexByte(b, greets) >= 0 {
		who.greeted = true
		c.greeted.Add(1)
	}
	if n := bytes.Count(b, []byte{counted}); n > 0 {
		if sum, target := c.marks.Add(int64(n)), c.target.Load(); sum >= target {
			select {
			case c.reached <- struct{}{}:
			default:
			}
		}
		return
	}
	if n := bytes.Count(b, []byte{pinged}); n > 0 {
		who.pings.Add(int32(n))
	}
}

// late is the time after which a missing event will not come.
const late = part.Patience / 2

func (c *crowd) wait(ctx context.Context, n int64) error {
	c.target.Store(n)
	timer := time.NewTimer(late)
	defer timer.Stop()
	for c.marks.Load() < n {
		select {
		case <-c.reached:
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return fmt.Errorf("%d events came instead of %d; %d streams have ended", c.marks.Load(), n, c.ended.Load())
		}
	}
	return nil
}
