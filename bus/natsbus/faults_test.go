package natsbus_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// The server is killed and restarted, three times: no accepted message is lost, and order holds.
func TestServerKilled(t *testing.T) {
	p := startProcess(t)
	at := "nats://" + p.address()
	x := startTraffic(t, open(t, natsbus.Config{}, at), open(t, natsbus.Config{}, at))
	for range 3 {
		x.handled(20)
		p.kill()
		p.start()
	}
	x.handled(20)
	x.finish()
}

// A server that restarts with an empty disk has lost its messages. Running processes create
// topics and groups again, and continue.
func TestDiskLost(t *testing.T) {
	p := startProcess(t)
	cfg := natsbus.Config{LeaseTTL: time.Second}
	b := open(t, cfg, "nats://"+p.address())
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"group"}}))
	ch := subscribe(t, b, "group", "topic")
	for n := range 10 {
		publish(t, b, "topic", keyed("k", fmt.Sprint(n)))
		receive(t, ch).Ack()
	}
	p.kill()
	p.dir = t.TempDir()
	p.start()
	for n := range 5 { // fewer than there were: the new stream counts from 1
		until(t, "a message is accepted", func() bool { return b.Publisher().Publish("topic", keyed("k", fmt.Sprint("new ", n))) == nil })
	}
	for n := range 5 {
		m := receive(t, ch)
		require.Equal(t, fmt.Sprint("new ", n), string(m.Payload))
		m.Ack()
	}
}

func TestConnectionsCut(t *testing.T) {
	raw := natstest.URL(t)
	u, err := url.Parse(raw)
	require.NoError(t, err)
	p := proxytest.Start(t, u.Host)
	through, _ := servicetest.Elsewhere(t, raw, p.Addr())
	x := startTraffic(t, open(t, natsbus.Config{}, through), open(t, natsbus.Config{}, through))
	for range 8 {
		x.handled(10)
		until(t, "a connection to cut", func() bool { return p.Cut() > 0 })
	}
	x.handled(10)
	x.finish()
}

// A server that is connected and does not answer: Publish ends with its context, and
// reports that the message may be published.
func TestStalledServer(t *testing.T) {
	p := startProcess(t)
	b := open(t, natsbus.Config{}, "nats://"+p.address())
	publish(t, b, "topic", keyed("k", "1"))
	p.signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	m := keyed("k", "2")
	m.SetContext(ctx)
	err := b.Publisher().Publish("topic", m)
	var failed *bus.PublishError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, []driver.Outcome{driver.Unknown}, failed.Outcomes)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	p.signal(syscall.SIGCONT)
	publish(t, b, "topic", keyed("k", "3"))
	ch := subscribe(t, b, "group", "topic")
	for _, want := range []string{"1", "2", "3"} { // it was sent, once
		m := receive(t, ch)
		require.Equal(t, want, string(m.Payload))
		m.Ack()
	}
}

// In one call, nothing is stored behind a message that the server does not store.
func TestNothingOvertakesARefusedMessage(t *testing.T) {
	s := natstest.Start(t, &server.Options{})
	b := open(t, natsbus.Config{Partitions: 1}, s.ClientURL())
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic"}))
	conn, _ := dial(t, s.ClientURL())
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "millrace+topic")
	require.NoError(t, err)
	tight := stream.CachedInfo().Config
	tight.MaxMsgSize = 1000
	_, err = js.UpdateStream(t.Context(), tight)
	require.NoError(t, err)

	big := keyed("k", fmt.Sprintf("2%02000d", 0))
	err = b.Publisher().Publish("topic", keyed("k", "1"), big, keyed("k", "3"), keyed("k", "4"))
	var failed *bus.PublishError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, fault.Permanent, fault.Of(err), "%v", err)
	for i := range failed.Outcomes {
		require.False(t, failed.Published(i))
	}
	all, err := b.Browse(t.Context(), "topic", 10)
	require.NoError(t, err)
	for _, m := range all {
		require.Equal(t, "1", string(m.Payload))
	}
	// A message that the server cannot accept is refused before any is sent.
	var large *bus.PublishError
	err = b.Publisher().Publish("topic", keyed("k", "5"), keyed("k", string(make([]byte, 9<<20))))
	require.ErrorAs(t, err, &large)
	require.ErrorIs(t, err, nats.ErrMaxPayload)
	require.Equal(t, []driver.Outcome{driver.Refused, driver.Refused}, large.Outcomes)
}

// A server that refuses the password for a while, as when it is changed at the servers before it
// is changed here, is an outage: work goes on when the server accepts it again.
func TestPasswordRefusedForAWhile(t *testing.T) {
	right := &server.Options{Username: "app", Password: "right"}
	s := natstest.Start(t, right)
	wrong := right.Clone()
	wrong.Password = "wrong"
	var dials dialer
	closed := make(chan struct{})
	b := open(t, natsbus.Config{Options: []nats.Option{
		nats.SetCustomDialer(&dials),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }),
	}}, "nats://app:right@"+s.Addr().String())
	publish(t, b, "topic", keyed("k", "1"))
	require.NoError(t, s.ReloadOptions(wrong))
	until(t, "the password was refused a few times", func() bool {
		select {
		case <-closed:
			t.Fatal("the connection is closed for good")
		default:
		}
		return dials.Load() >= 6 // the last one may be under way
	})
	err := b.Publisher().Publish("topic", keyed("k", "2"))
	require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)
	require.NoError(t, s.ReloadOptions(right))
	until(t, "a message is accepted", func() bool { return b.Publisher().Publish("topic", keyed("k", "2")) == nil })
}

// dialer counts its connections.
type dialer struct{ atomic.Int32 }

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.Add(1)
	return net.Dial(network, address)
}

// A topic whose stream does not answer, as while it has no leader, delays no other topic.
func TestATopicThatHangsDelaysNoOther(t *testing.T) {
	s := natstest.Start(t, &server.Options{})
	b := open(t, natsbus.Config{Partitions: 1}, s.ClientURL())
	publish(t, b, "other", keyed("k", "0"))
	publish(t, b, "hangs", keyed("k", "0"))
	conn, _ := dial(t, s.ClientURL())
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(t.Context(), "millrace+hangs"))
	asked := make(chan *nats.Msg, 1)
	_, err = conn.ChanSubscribe("millrace.hangs.*", asked)
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	hanging := make(chan error, 1)
	go func() { hanging <- b.Publisher().Publish("hangs", keyed("k", "1")) }()
	<-asked
	publish(t, b, "other", keyed("k", "1"))
	require.Empty(t, hanging, "it had to wait for the topic that hangs")
	require.Error(t, <-hanging)
}

// A topic whose stream stores nothing fails no call that publishes to another topic at the same
// moment: calls share a round of batches.
func TestATopicThatFailsLeavesOthersAlone(t *testing.T) {
	const calls = 100
	s := natstest.Start(t, &server.Options{})
	b := open(t, natsbus.Config{Partitions: 1}, s.ClientURL())
	publish(t, b, "other", keyed("k", "0"))
	publish(t, b, "full", keyed("k", "0"))
	conn, _ := dial(t, s.ClientURL())
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	full, err := js.Stream(t.Context(), "millrace+full")
	require.NoError(t, err)
	settings := full.CachedInfo().Config
	settings.MaxMsgs, settings.Discard = 1, jetstream.DiscardNew
	_, err = js.UpdateStream(t.Context(), settings)
	require.NoError(t, err)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range calls {
				if err := b.Publisher().Publish("full", keyed("k", "refused")); fault.Of(err) != fault.Infrastructure {
					t.Errorf("publishing into a full stream: %v (%v)", err, fault.Of(err))
				}
			}
		})
		work.Go(func() {
			for n := range calls {
				assert.NoError(t, b.Publisher().Publish("other", keyed("k", fmt.Sprint(n))), "publishing into another")
			}
		})
	}
	work.Wait()
	other, err := js.Stream(t.Context(), "millrace+other")
	require.NoError(t, err)
	require.EqualValues(t, 1+4*calls, other.CachedInfo().State.Msgs)
}
