package redissse_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

// instanceEnv makes the test's program an instance of a fleet instead, on the Redis
// of this URL.
const instanceEnv = "REDISSSE_INSTANCE"

// fleetConfig is that of all instances. A lease of some seconds holds on a busy
// machine, and is over soon after a kill.
func fleetConfig() sse.Config {
	return sse.Config{
		Max: 3, Ping: 1500 * time.Millisecond, Lease: 6 * time.Second, Timeout: 2 * time.Second, Lifetime: 30 * 24 * time.Hour,
		Retry: time.Second, Logger: slog.New(slog.DiscardHandler),
	}
}

// lossy loses every other message about an eviction.
type lossy struct {
	driver.Broker
	told atomic.Int64
}

func (l *lossy) Publish(ctx context.Context, m driver.Message) error {
	if m.Kind == driver.Disconnect && l.told.Add(1)%2 == 0 {
		return nil
	}
	return l.Broker.Publish(ctx, m)
}

// serveHub answers with streams of a hub.
func serveHub(hub *sse.Hub) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		_ = hub.Serve(w, r, sse.Stream{Member: q.Get("member"), Token: q.Get("tab")}) // it has answered
	})
}

// beInstance is the program that is killed: a hub and a server, whose address it
// prints. It ends with its standard input, unless it is killed before.
func beInstance(url string) error {
	client, err := redisdb.Open(url, redisdb.Config{})
	if err != nil {
		return err
	}
	streams, broker, err := redissse.New(client, redissse.Config{})
	if err != nil {
		return err
	}
	hub, err := sse.New(streams, &lossy{Broker: broker}, fleetConfig())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // to its end
		stop()
	}()
	running := make(chan error, 1)
	go func() { running <- hub.Run(ctx) }()
	if err := hub.Ready(ctx); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: serveHub(hub)}
	go func() { _ = server.Serve(listener) }() // until the process ends
	if _, err := fmt.Println("http://" + listener.Addr().String()); err != nil {
		return err
	}
	return <-running
}

// remote is an instance in a process of its own.
type remote struct {
	at     string
	cmd    *exec.Cmd
	in     io.Closer // kept open, for it ends with that
	killed atomic.Bool
}

func startRemote(t *testing.T, url string) *remote {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), instanceEnv+"="+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	at, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the instance does not begin: %v, %v", err, cmd.Wait())
	}
	return &remote{at: strings.TrimSpace(at), cmd: cmd, in: in}
}

// kill ends it as kill -9 does.
func (r *remote) kill(t *testing.T) {
	t.Helper()
	r.killed.Store(true)
	assert.NoError(t, r.cmd.Process.Kill())
	_ = r.cmd.Wait() // with the signal
}

// local is an instance in this process, whose messages pass a proxy to cut.
type local struct {
	*process
	lossy *lossy
}

func startLocal(t *testing.T, client, messages redis.UniversalClient) *local {
	t.Helper()
	l := &local{}
	broker := newBroker(t, messages, redissse.Config{})
	l.process = startProcess(t, client, "", func(driver.Broker) driver.Broker {
		l.lossy = &lossy{Broker: broker}
		return l.lossy
	}, fleetConfig())
	return l
}
