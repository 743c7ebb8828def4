package gatebench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/millrace-go/millrace/proof/part"
)

// Part is the first argument of this program when it is the origin.
const Part = "gate-origin"

// page is how many bytes the origin answers with.
const page = 1024

// Take is the main function of the origin. It answers every request alike, and as
// cheaply as it can.
func Take(ctx context.Context, in io.Reader, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // it was closed
			}
			go serveOrigin(conn)
		}
	})
	err = part.Answer(ctx, in, out, func(context.Context, string) (string, error) { return "", nil })
	_ = listener.Close() // the process ends
	all.Wait()
	return err
}

func serveOrigin(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // nothing is left to be written
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nContent-Length: " + fmt.Sprint(page) + "\r\n\r\n" + strings.Repeat("x", page))
	for in := bufio.NewReaderSize(conn, 16<<10); ; {
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return // the proxy has closed it
			}
			if len(line) <= len("\r\n") {
				break
			}
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}
