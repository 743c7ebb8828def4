package boxtest

import (
	"bytes"
	"strings"
	"sync"
)

// FirstLine is a writer that hands over the first line written to it.
type FirstLine struct {
	// Line gets it, once.
	Line <-chan string

	mu   sync.Mutex
	buf  bytes.Buffer
	line chan string
}

// NewFirstLine makes one.
func NewFirstLine() *FirstLine {
	line := make(chan string, 1)
	return &FirstLine{Line: line, line: line}
}

// Write implements io.Writer.
func (f *FirstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buf.Write(p)
	if line, _, ok := strings.Cut(f.buf.String(), "\n"); ok && f.line != nil {
		f.line <- line
		f.line = nil
	}
	return len(p), nil
}
