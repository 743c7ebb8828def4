package upstream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// BenchmarkServe calls an upstream in a process of its own over eight
// connections that never wait, with a client that only counts the bytes.
// cpu-µs/call is all processor time of the upstream's process, its start
// included.
func BenchmarkServe(b *testing.B) {
	for _, size := range []int{3000, 300_000} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			addr, cpu := child(b, size)
			var next atomic.Int64
			var wg sync.WaitGroup
			failed := make(chan error, 8)
			b.ResetTimer()
			for range 8 {
				wg.Go(func() {
					if err := hammer(addr, func() bool { return next.Add(1) <= int64(b.N) }, size); err != nil {
						failed <- err
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			close(failed)
			for err := range failed {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(cpu()/float64(b.N), "cpu-µs/call")
		})
	}
}

// child starts an upstream. cpu ends it and returns the microseconds it took.
func child(b *testing.B, size int) (addr string, cpu func() float64) {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"=--limit 1000000000 --body-bytes "+strconv.Itoa(size))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	var once sync.Once
	stop := func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			assert.NoError(b, cmd.Wait())
		})
	}
	b.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	return strings.TrimPrefix(strings.TrimSpace(line), "http://"), func() float64 {
		stop()
		return float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds())
	}
}

// hammer makes calls on one connection while more returns true.
func hammer(addr string, more func() bool, size int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	r := bufio.NewReaderSize(c, 64<<10)
	for more() {
		if _, err := io.WriteString(c, "GET /artists/77 HTTP/1.1\r\nHost: up\r\nX-Priority: low\r\nX-Instance: b\r\n\r\n"); err != nil {
			return err
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err != nil || int(n) != size || res.StatusCode != http.StatusOK {
			return fmt.Errorf("%d, %d bytes, %w", res.StatusCode, n, err)
		}
	}
	return nil
}

// BenchmarkArtist makes an artist without sending it.
func BenchmarkArtist(b *testing.B) {
	bodies := newBodies(300_000)
	b.ReportAllocs()
	id := 0
	for b.Loop() {
		id = id%Artists + 1
		bodies.free(bodies.headOf(artist{id: id}))
	}
}

// BenchmarkArrive measures the cost of the lock.
func BenchmarkArrive(b *testing.B) {
	u := open(b, Config{Limit: 1 << 40})
	b.ReportAllocs()
	for b.Loop() {
		k := u.gate.arrive(false)
		u.gate.identify(k, identity{class: classLow, instance: "b"})
		u.gate.decide(k, 200)
		u.gate.finish(k, 0)
	}
}
