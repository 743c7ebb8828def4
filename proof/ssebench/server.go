package ssebench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// server is a process with one contender.
type server struct {
	addr     string
	site     site
	http     http.Server
	served   chan struct{}
	mark     []byte // the data of an event that is counted
	greeting []byte
}

func serve(ctx context.Context, name, size, ping string) (*server, error) {
	bytesOf, err := strconv.Atoi(size)
	if err != nil {
		return nil, err
	}
	every, err := time.ParseDuration(ping)
	if err != nil {
		return nil, err
	}
	s := &server{served: make(chan struct{}), mark: data(bytesOf, counted), greeting: data(bytesOf, greets)}
	if s.site, err = open(ctx, name, every); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, s.site.close())
	}
	s.addr = listener.Addr().String()
	s.http.Handler = s.site
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // until it is closed
	}()
	return s, nil
}

func (s *server) close() error {
	err := s.http.Close()
	<-s.served
	return errors.Join(err, s.site.close())
}

// The bytes by which a crowd recognizes an event. Nothing else on the wire has
// them, except the head, which has letters.
const (
	counted = '~'
	greets  = '^'
	pinged  = 'g'
)

// minSize is the smallest event, with a mark and some data.
const minSize = len("data: \n\n") + 2

func data(size int, mark byte) []byte {
	d := bytes.Repeat([]byte{'x'}, size-len("data: \n\n"))
	d[len(d)/2] = mark
	return d
}

func (s *server) answer(ctx context.Context, line string) (string, error) {
	verb, arg, _ := strings.Cut(line, " ")
	switch verb {
	case "greet":
		return "", s.site.send(ctx, s.greeting)
	case "send":
		n, err := strconv.Atoi(arg)
		for ; n > 0 && err == nil; n-- {
			err = s.site.send(ctx, s.mark)
		}
		return "", err
	case "cpu":
		return strconv.FormatInt(int64(report.CPU()), 10), nil
	case "memory":
		fresh, err := resident()
		if err != nil {
			return "", err
		}
		// Each collection halves the stacks that are too large, and pools live for two.
		for range 4 {
			debug.FreeOSMemory()
		}
		idle, err := resident()
		return fmt.Sprint(fresh, " ", idle), err
	}
	return "", fmt.Errorf("what is %q?", line)
}

// resident is the resident memory of this process, in bytes.
func resident() (int64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm has %q", b)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// spareFiles are those that a process needs beside its streams.
const spareFiles = 200

// mostFiles is how many files a process may have open.
func mostFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return int(min(limit.Cur, 1<<30)) // Go has raised it to the hard limit
}
