package tcpproxy_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/tcpproxy"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends its input back.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
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
	if n := p.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := io.WriteString(c, "never"); err != nil {
		t.Fatal(err)
	}
}

func TestStall(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	p.Stall(true)
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got, err := say(c, "hello"); err == nil {
		t.Errorf("a stalled connection answers %q", got)
	}
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	p.Stall(false)
	got := make([]byte, len("hello"))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	p.Stall(true) // Close cuts it short
	if _, err := io.WriteString(c, "never"); err != nil {
		t.Fatal(err)
	}
}

func TestVacant(t *testing.T) {
	addr, err := tcpproxy.Vacant()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Fatalf("somebody listens at %s", addr)
	}
	p, err := tcpproxy.At(addr, echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got, err := say(dial(t, p), "hello"); got != "hello" || err != nil || p.Addr() != addr {
		t.Fatal(got, err, p.Addr())
	}
}
