package ssebench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// bareWrites is the limit for all senders of events over TCP: one write of the
// kernel for each stream and event, after each other, and nothing else.
const bareWrites = "bare writes"

// wire keeps connections and writes to them.
type wire struct {
	mu    sync.Mutex
	conns []net.Conn
}

// ServeHTTP takes the connection over.
func (s *wire) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"); err != nil {
		_ = conn.Close() // the crowd misses it
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
}

func (s *wire) send(_ context.Context, data []byte) error {
	frame := append(append([]byte("data: "), data...), "\n\n"...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if _, err := c.Write(frame); err != nil {
			return err
		}
	}
	return nil
}

func (s *wire) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, c := range s.conns {
		err = errors.Join(err, c.Close())
	}
	s.conns = nil
	return err
}
