package tcpproxy_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/tcpproxy"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends its input back.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		served.Wait()
	})
	return l.Addr().String()
}

func start(t *testing.T) *tcpproxy.Proxy {
	t.Helper()
	return proxytest.Start(t, echo(t))
}

func dial(t *testing.T, p *tcpproxy.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return c
}

func say(c net.Conn, text string) (string, error) {
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	got := make([]byte, len(text))
	_, err := io.ReadFull(c, got)
	return string(got), err
}

func TestPasses(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go c.Write(want) //nolint:errcheck // the reader notices
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("a megabyte came back changed (%v)", err)
	}
	assert.Equal(t, 1, p.Connections(), "connections")
}

func TestCut(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	if got, err := say(c, "hello"); got != "hello" || err != nil {
		t.Fatal(got, err)
	}
	if n := p.Cut(); n != 1 {
		t.Errorf("cut %d connections", n)
	}
	if _, err := say(c, "hello"); err == nil {
		t.Error("a connection that was cut answers")
	}
	if got, err := say(dial(t, p), "again"); got != "again" || err != nil {
		t.Errorf("a new one: %q, %v", got, err)
	}
}

func TestRedirect(t *testing.T) {
	away, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	away.Close() // connections to it are refused
	p := proxytest.Start(t, away.Addr().String())
	if got, err := say(dial(t, p), "hello"); err == nil {
		t.Fatalf("a server that does not listen answers %q", got)
	}
	p.Redirect(echo(t))
	c := dial(t, p)
	if got, err := say(c, "hello"); got != "hello" || err != nil {
		t.Fatalf("the other server: %q, %v", got, err)
	}
	p.Redirect(echo(t))
	if _, err := say(c, "hello"); err == nil {
		t.Error("a connection to the server before still stands")
	}
}

func TestRefuse(t *testing.T) {
	p := start(t)
	p.Refuse(true)
	if _, err := say(dial(t, p), "hello"); err == nil {
		t.Error("a refused connection answers")
	}
	p.Refuse(false)
	if got, err := say(dial(t, p), "hello"); got != "hello" || err != nil {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

func TestDelay(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	p.Delay(40 * time.Millisecond)
	began := time.Now()
	got, err := say(c, "hello")
	if got != "hello" || err != nil {
		t.Fatal(got, err)
	}
	if d := time.Since(began); d < 80*time.Millisecond {
		t.Errorf("there and back took %s", d)
	}
	p.Delay(time.Hour) // Close cuts it short
	_, err = io.WriteString(c, "never")
	require.NoError(t, err)
}

func TestStall(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	p.Stall(true)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if got, err := say(c, "hello"); err == nil {
		t.Errorf("a stalled connection answers %q", got)
	}
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	p.Stall(false)
	got := make([]byte, len("hello"))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	p.Stall(true) // Close cuts it short
	_, err := io.WriteString(c, "never")
	require.NoError(t, err)
}

func TestVacant(t *testing.T) {
	addr, err := tcpproxy.Vacant()
	require.NoError(t, err)
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Fatalf("somebody listens at %s", addr)
	}
	p, err := tcpproxy.At(addr, echo(t))
	require.NoError(t, err)
	defer p.Close()
	if got, err := say(dial(t, p), "hello"); got != "hello" || err != nil || p.Addr() != addr {
		t.Fatal(got, err, p.Addr())
	}
}
