package limitproof

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

func TestStamp(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	var written atomic.Int64
	s := &stamper{Conn: client, written: &written}
	head := []byte("GET /artists/1 HTTP/1.1\r\nHost: x\r\nX-Sent-At: " + unsent + "\r\nX-Priority: high\r\n\r\n")
	original := string(head)
	before := boottime.Now()
	errs := make(chan error, 1)
	go func() { n, err := s.Write(head); _ = n; errs <- err }()
	req, err := http.ReadRequest(bufio.NewReader(server))
	require.NoError(t, err)
	require.NoError(t, <-errs)
	at, err := strconv.ParseInt(req.Header.Get(upstream.HeaderSentAt), 10, 64)
	if err != nil || time.Duration(at) < before || time.Duration(at) > boottime.Now() {
		t.Errorf("sent at %q, %v; it was %d before", req.Header.Get(upstream.HeaderSentAt), err, before)
	}
	assert.Equal(t, original, string(head), "the writer changed what it was given")
	if req.Header.Get(upstream.HeaderPriority) != "high" || written.Load() != 1 {
		t.Errorf("%v, %d written", req.Header, written.Load())
	}
	// A write that is no head of a call passes unchanged, and is not counted.
	go func() { _, err := s.Write([]byte("X-Sent-At: 12\r\n")); errs <- err }()
	line, err := bufio.NewReader(server).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "X-Sent-At: 12" || <-errs != nil || written.Load() != 1 {
		t.Errorf("%q, %v, %d written", line, err, written.Load())
	}
}
