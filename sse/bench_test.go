package sse_test

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse"
)

// readers opens streams and counts their events, as cheaply as a client can.
type readers struct {
	got  atomic.Int64
	all  sync.WaitGroup
	more chan struct{}
}

func (r *readers) open(b *testing.B, addr string, n int, mark []byte) {
	r.more = make(chan struct{}, 1)
	for i := range n {
		conn, err := net.Dial("tcp", addr)
		require.NoError(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "GET /?member=m%d HTTP/1.1\r\nHost: x\r\n\r\n", i)
		require.NoError(b, err)
		opened := make(chan struct{})
		r.all.Go(func() {
			in := bufio.NewReaderSize(conn, 16<<10)
			for first := true; ; {
				line, err := in.ReadSlice('\n')
				if err != nil {
					return
				}
				if first && bytes.HasPrefix(line, []byte("retry")) {
					first = false
					close(opened)
				}
				if bytes.HasPrefix(line, mark) {
					r.got.Add(1)
					select {
					case r.more <- struct{}{}:
					default:
					}
				}
			}
		})
		<-opened
	}
}

func (r *readers) wait(n int64) {
	for r.got.Load() < n {
		<-r.more
	}
}

// BenchmarkFanOut sends 200-byte events to 1,000 streams, each burst when the last
// has arrived everywhere. The readers share the CPUs. bare is a handler that writes
// and flushes events from a channel.
func BenchmarkFanOut(b *testing.B) {
	const streams = 1000
	data := bytes.Repeat([]byte("x"), 180)
	for _, burst := range []int{1, 30} {
		run := func(name string, start func(b *testing.B) (addr string, send func())) {
			b.Run(fmt.Sprintf("%s/burst=%d", name, burst), func(b *testing.B) {
				addr, send := start(b)
				var r readers
				b.Cleanup(r.all.Wait)
				r.open(b, addr, streams, []byte("data: x"))
				b.ResetTimer()
				sent := int64(0)
				for b.Loop() {
					for range burst {
						send()
					}
					sent += int64(burst) * streams
					r.wait(sent)
				}
				b.ReportMetric(float64(sent)/b.Elapsed().Seconds()/1000, "k/s")
			})
		}
		for _, lean := range []bool{false, true} {
			name := map[bool]string{false: "portable", true: "lean"}[lean]
			run(name, func(b *testing.B) (string, func()) {
				s := start(b, newCap(b), newBroker(b), sse.Config{Lean: lean, Logger: slog.New(slog.DiscardHandler)})
				return s.url[len("http://"):], func() {
					if err := s.ToAll(b.Context(), sse.Event{Data: data}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("bare", func(b *testing.B) (string, func()) {
			var mu sync.Mutex
			var all []chan []byte
			frame, err := sse.Encode(sse.Event{Data: data})
			if err != nil {
				b.Fatal(err)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mine := make(chan []byte, 64)
				mu.Lock()
				all = append(all, mine)
				mu.Unlock()
				w.Header().Set("Content-Type", "text/event-stream")
				rc := http.NewResponseController(w)
				_, err := w.Write([]byte("retry: 3000\n\n"))
				for err == nil && rc.Flush() == nil {
					select {
					case f := <-mine:
						_, err = w.Write(f)
					case <-r.Context().Done():
						return
					}
				}
			}))
			b.Cleanup(server.Close)
			return server.Listener.Addr().String(), func() {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range all {
					c <- frame
				}
			}
		})
	}
}
