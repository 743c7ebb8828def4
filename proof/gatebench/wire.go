package gatebench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
)

// wire is a connection of HTTP/1.1 that is as cheap as can be.
type wire struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
}

func dial(ctx context.Context, at string, request []byte) (*wire, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	return &wire{conn, bufio.NewReaderSize(conn, 16<<10), request}, nil
}

// ask makes the request, and reads the answer.
func (w *wire) ask() error {
	if _, err := w.conn.Write(w.request); err != nil {
		return err
	}
	length, err := w.answer()
	if err == nil && length != page {
		err = fmt.Errorf("an answer has %d bytes, and the origin's have %d", length, page)
	}
	return err
}

var contentLength = []byte("content-length:")

// answer reads a good answer to its end, and returns its length.
func (w *wire) answer() (length int, err error) {
	status, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		return 0, fmt.Errorf("the answer is %q", status)
	}
	length = -1
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= len("\r\n") {
			break
		}
		if n := len(contentLength); len(line) > n && bytes.EqualFold(line[:n], contentLength) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[n:]))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("an answer has no Content-Length")
	}
	_, err = w.in.Discard(length)
	return length, err
}
