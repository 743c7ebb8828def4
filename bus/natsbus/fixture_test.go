package natsbus_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

var (
	publish = sourcetest.Publish
	keyed   = sourcetest.Keyed
	receive = sourcetest.Receive
)

func open(t testing.TB, cfg natsbus.Config, url string) *bus.Bus {
	t.Helper()
	b, err := tryOpen(cfg, url)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "close")
	})
	return b
}

func tryOpen(cfg natsbus.Config, url string) (*bus.Bus, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return bus.Open(context.Background(), url, natsbus.Scheme(cfg))
}

func subscribe(t testing.TB, b *bus.Bus, group, topic string) <-chan *message.Message {
	t.Helper()
	return sourcetest.Subscribe(t, b, group, topic, 64)
}

// until waits for a condition.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !done(); <-tick.C {
		require.Falsef(t, time.Now().After(deadline), "not within a minute: %s", what)
	}
}

// process is a NATS server in a process of its own.
type process struct {
	t         *testing.T
	dir, port string
	env       []string // beyond what a server that is alone needs
	cmd       *exec.Cmd
}

func startProcess(t *testing.T) *process {
	t.Helper()
	p := newProcess(t)
	p.start()
	return p
}

// newProcess is a server that has not started.
func newProcess(t *testing.T, env ...string) *process {
	t.Helper()
	p := &process{t: t, dir: t.TempDir(), port: strconv.Itoa(natstest.FreePort(t)), env: env}
	t.Cleanup(p.kill)
	return p
}

func (p *process) address() string { return "127.0.0.1:" + p.port }

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), envServer+"="+p.dir, envPort+"="+p.port)
	p.cmd.Env = append(p.cmd.Env, p.env...)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	until(p.t, "the server answers", func() bool {
		c, err := net.Dial("tcp", p.address())
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	if s != syscall.SIGSTOP {
		return
	}
	var status syscall.WaitStatus // it goes on for a moment after the signal
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		p.t.Fatalf("the server does not stop: %v, %v", status, err)
	}
}

// kill ends the server as kill -9 does.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Signal(syscall.SIGKILL) //nolint:errcheck // it may have ended
	p.cmd.Wait()                          //nolint:errcheck // it was killed
}

// traffic publishes numbered messages of several keys, one or a few in a call, each call
// until it is accepted, and notes the messages that a group handles.
type traffic struct {
	t    *testing.T
	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	sent     map[string]int // the last number that was accepted
	got      map[string][]int
	seen     map[string]bool // key and number
	failures int             // of Publish
	repeated int             // deliveries beyond the first
}

// trafficKeys is how many keys each publisher has. The nth one publishes n messages in a call.
const trafficKeys = 4

func startTraffic(t *testing.T, to *bus.Bus, from ...*bus.Bus) *traffic {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	x := &traffic{t: t, stop: stop, sent: map[string]int{}, got: map[string][]int{}, seen: map[string]bool{}}
	t.Cleanup(stop)
	until(t, "the topic is declared", func() bool { // a server of a cluster may be absent yet
		err := to.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"group"}})
		if err != nil && fault.Of(err) != fault.Infrastructure {
			t.Fatal(err)
		}
		return err == nil
	})
	for p, b := range from {
		for k := range trafficKeys {
			key := fmt.Sprintf("key%d-%d", p, k)
			x.mu.Lock()
			x.sent[key] = 0
			x.mu.Unlock()
			x.work.Go(func() { x.publish(ctx, b, key, k+1) })
		}
	}
	ch := subscribe(t, to, "group", "topic")
	go func() {
		for m := range ch {
			x.note(m)
			m.Ack()
		}
	}()
	return x
}

func (x *traffic) publish(ctx context.Context, b *bus.Bus, key string, size int) {
	for n := size; ctx.Err() == nil; n += size {
		var call []*message.Message
		for i := n - size + 1; i <= n; i++ {
			call = append(call, keyed(key, fmt.Sprint(i)))
		}
		for {
			err := b.Publisher().Publish("topic", call...)
			if err == nil {
				break
			}
			if fault.Of(err) != fault.Infrastructure {
				x.t.Errorf("publish: %v is %v, want infrastructure", err, fault.Of(err))
				return
			}
			x.mu.Lock()
			x.failures++
			x.mu.Unlock()
			select {
			case <-time.After(5 * time.Millisecond):
			case <-x.t.Context().Done():
				return
			}
		}
		x.mu.Lock()
		x.sent[key] = n
		x.mu.Unlock()
	}
}

func (x *traffic) note(m *message.Message) {
	key, n := event.Key(m), 0
	fmt.Sscan(string(m.Payload), &n)
	x.mu.Lock()
	defer x.mu.Unlock()
	one := fmt.Sprint(key, " ", n)
	if x.seen[one] {
		x.repeated++
		return
	}
	x.seen[one] = true
	x.got[key] = append(x.got[key], n)
}

// handled waits until more messages of each key, published from now on, are handled.
func (x *traffic) handled(more int) {
	x.t.Helper()
	x.mu.Lock()
	want := map[string]int{}
	for key, n := range x.sent {
		want[key] = n + more
	}
	x.mu.Unlock()
	defer func() {
		if x.t.Failed() {
			x.mu.Lock()
			defer x.mu.Unlock()
			for key, n := range want {
				x.t.Logf("%s: %d handled of %d, the last ones %v", key, len(x.got[key]), n, x.got[key][max(0, len(x.got[key])-5):])
			}
		}
	}()
	until(x.t, "new messages of each key are handled", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		for key, n := range want {
			if len(x.got[key]) < n {
				return false
			}
		}
		return true
	})
}

// finish stops publishing and checks that all accepted messages are handled, the first time
// in order.
func (x *traffic) finish() {
	x.t.Helper()
	x.stop()
	x.work.Wait()
	x.handled(0)
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, all := range x.got {
		for i, n := range all {
			if n != i+1 {
				x.t.Fatalf("%s: message %d was handled as the %dth", key, n, i+1)
			}
		}
	}
	x.t.Logf("%v published, %d failed publishes, %d repeated deliveries", x.sent, x.failures, x.repeated)
}
