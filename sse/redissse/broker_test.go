package redissse_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

func publish(t *testing.T, b driver.Broker, m driver.Message) {
	t.Helper()
	require.NoError(t, b.Publish(t.Context(), m))
}

func brokerPrefix(t *testing.T, client redis.UniversalClient) redissse.Config {
	t.Helper()
	return redissse.Config{Prefix: redistest.Prefix(t, client)}
}

// TestMessages carries each kind, to any address, unchanged.
func TestMessages(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			cfg := brokerPrefix(t, client)
			a, b := newBroker(t, client, cfg), newBroker(t, connect(t), cfg)
			at, there := listen(t, a), listen(t, b)
			var want []driver.Message
			for i := range 64 { // addresses of all channels
				to := fmt.Sprint("to-", i)
				want = append(want,
					driver.Message{Kind: driver.ToMember, To: to, Event: "notification", ID: "7", Frame: []byte("id: 7\ndata: \x00\xff\n\n")},
					driver.Message{Kind: driver.ToRoom, To: to, Event: "chat", Frame: []byte("data: a\n\n")},
					driver.Message{Kind: driver.Join, To: to, Arg: "room"}, driver.Message{Kind: driver.Leave, To: to, Arg: "room"},
					driver.Message{Kind: driver.Mute, To: to}, driver.Message{Kind: driver.Unmute, To: to},
					driver.Message{Kind: driver.Disconnect, To: to, Arg: "instance.1"},
				)
			}
			want = append(want, driver.Message{Kind: driver.ToAll, Frame: []byte(strings.Repeat("data: long\n", 10_000) + "\n")})
			want = append(want, driver.Message{Kind: driver.Disconnect, To: "no text \xff", Arg: "\xfe.1"})
			for _, m := range want {
				publish(t, a, m)
			}
			for _, h := range []*heard{at, there} {
				var got []driver.Message
				for range want {
					got = append(got, wait(t, "message", h.messages))
				}
				assert.Truef(t, sameMessages(got, want), "heard other messages than were published: %d of %d", len(got), len(want))
			}
		})
	}
}

// sameMessages says whether both are the same, those to one address of one kind in
// the same order.
func sameMessages(got, want []driver.Message) bool {
	texts := func(all []driver.Message) []string {
		of := map[string]string{}
		for _, m := range all {
			of[fmt.Sprint(m.Kind, " ", m.To)] += fmt.Sprintf("%+v", m)
		}
		var texts []string
		for to, text := range of {
			texts = append(texts, to+text)
		}
		slices.Sort(texts)
		return texts
	}
	return slices.Equal(texts(got), texts(want))
}

// TestOrder: messages of one publisher to an address are heard in order.
func TestOrder(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			cfg := brokerPrefix(t, client)
			b := newBroker(t, client, cfg)
			h := listen(t, newBroker(t, connect(t), cfg))
			const publishers, each = 20, 50
			var all sync.WaitGroup
			for p := range publishers {
				all.Go(func() {
					for i := range each {
						m := driver.Message{Kind: driver.ToMember, To: fmt.Sprint("member-", p), ID: fmt.Sprint(i), Frame: []byte("data\n\n")}
						assert.NoError(t, b.Publish(t.Context(), m))
					}
				})
			}
			all.Wait()
			next := map[string]int{}
			for range publishers * each {
				m := wait(t, "message", h.messages)
				if m.ID != fmt.Sprint(next[m.To]) {
					t.Fatalf("%s hears %s after %d", m.To, m.ID, next[m.To]-1)
				}
				next[m.To]++
			}
		})
	}
}

// TestDisconnectFormat checks the eviction messages that other programs exchange.
func TestDisconnectFormat(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			cfg := brokerPrefix(t, client)
			b := newBroker(t, client, cfg)
			h := listen(t, b)
			channel := cfg.Prefix + "sse:notification:disconnect"
			other, say := client.Subscribe(t.Context(), channel), client.Publish
			if kind == "cluster" {
				other.Close()
				other, say = client.SSubscribe(t.Context(), channel), client.SPublish
			}
			defer other.Close()
			_, err := other.Receive(t.Context())
			require.NoError(t, err)
			publish(t, b, driver.Message{Kind: driver.Disconnect, To: "42", Arg: "i.7"})
			m, err := other.ReceiveMessage(t.Context())
			if err != nil || m.Payload != `{"memberId":"42","connectionId":"i.7"}` {
				t.Errorf("another program is told %v, %v", m, err)
			}
			wait(t, "message of our own", h.messages)
			// Invalid messages are ignored, and the next one is heard.
			for _, text := range []string{"", "{", "[]", `{"memberId":"42"}`, `{"connectionId":"x"}`, `{"memberId":"1","connectionId":"i.8"}`} {
				require.NoError(t, say(t.Context(), channel, text).Err())
			}
			if got := wait(t, "message of another", h.messages); got.Kind != driver.Disconnect || got.To != "1" || got.Arg != "i.8" {
				t.Errorf("heard %+v", got)
			}
			channel = redissse.Channels(b)[3]
			for _, text := range []string{"", "\x01", "\x01\x01\xff", "nothing", string(driver.Message{Kind: driver.Mute, To: "1"}.Append(nil))} {
				require.NoError(t, say(t.Context(), channel, text).Err())
			}
			if got := wait(t, "message", h.messages); got.Kind != driver.Mute {
				t.Errorf("heard %+v", got)
			}
		})
	}
}

// TestSharded asks the nodes of a Cluster for their listeners: by shards, and
// plainly where that is configured.
func TestSharded(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprint("plain ", plain), func(t *testing.T) {
			t.Parallel()
			cluster := servers["cluster"](t).(*redis.ClusterClient)
			cfg := brokerPrefix(t, cluster)
			cfg.Plain = plain
			b := newBroker(t, cluster, cfg)
			h := listen(t, b)
			var mu sync.Mutex
			sharded, plainly, nodes := int64(0), int64(0), 0
			err := cluster.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
				byShard, err := node.PubSubShardNumSub(ctx, redissse.Channels(b)...).Result()
				if err != nil {
					return err
				}
				all, err := node.PubSubNumSub(ctx, redissse.Channels(b)...).Result()
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				here := int64(0)
				for _, n := range byShard {
					here += n
				}
				if sharded += here; here > 0 {
					nodes++
				}
				for _, n := range all {
					plainly += n
				}
				return nil
			})
			channels := int64(len(redissse.Channels(b)))
			switch {
			case err != nil:
				t.Fatal(err)
			case plain && (sharded != 0 || plainly != channels):
				t.Errorf("%d sharded and %d plain subscriptions", sharded, plainly)
			case !plain && (sharded != channels || plainly != 0 || nodes < 2):
				t.Errorf("%d sharded and %d plain subscriptions, on %d nodes", sharded, plainly, nodes)
			}
			publish(t, b, driver.Message{Kind: driver.Mute, To: "m"})
			if m := wait(t, "message", h.messages); m.To != "m" {
				t.Errorf("heard %+v", m)
			}
		})
	}
}

// TestOldServer uses a single server without the commands of Redis 7, and a Cluster
// without them, where the error says how to proceed.
func TestOldServer(t *testing.T) {
	t.Parallel()
	old := []string{"--rename-command", "SSUBSCRIBE", "", "--rename-command", "SPUBLISH", ""}
	single := redistest.StartServer(t, old...)
	b := newBroker(t, open(t, single.URL()), redissse.Config{})
	h := listen(t, b)
	publish(t, b, driver.Message{Kind: driver.Mute, To: "m"})
	wait(t, "message", h.messages)

	node := redistest.StartServer(t, append(old, "--cluster-enabled", "yes")...)
	serveAll(t, node)
	cluster := open(t, "redis://"+node.Address+"/?cluster=true")
	b = newBroker(t, cluster, redissse.Config{})
	nothing := driver.Listener{Hear: func(driver.Message) {}, Up: func() {}, Down: func() {}}
	for _, err := range []error{b.Listen(t.Context(), nothing), b.Publish(t.Context(), driver.Message{Kind: driver.Mute, To: "m"})} {
		if err == nil || !strings.Contains(err.Error(), "Config.Plain") {
			t.Errorf("a Cluster without sharded Pub/Sub: %v", err)
		}
	}
	b = newBroker(t, cluster, redissse.Config{Plain: true})
	h = listen(t, b)
	publish(t, b, driver.Message{Kind: driver.Mute, To: "m"})
	wait(t, "message", h.messages)
}

// TestRefusedMessages names the fault of a message, and does not send it.
func TestRefusedMessages(t *testing.T) {
	b := newBroker(t, open(t, "redis://127.0.0.1:1"), redissse.Config{})
	long := strings.Repeat("a", driver.MaxMember+1)
	for name, m := range map[string]driver.Message{
		"no kind": {To: "a"}, "another kind": {Kind: driver.Answer + 1}, "a long address": {Kind: driver.ToRoom, To: long},
		"a long argument": {Kind: driver.Join, To: "a", Arg: long}, "a long frame": {Kind: driver.ToAll, Frame: make([]byte, driver.MaxMessage)},
	} {
		if err := b.Publish(t.Context(), m); fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.Listen(t.Context(), driver.Listener{}); fault.Of(err) != fault.Permanent {
		t.Errorf("an empty listener: %v", err)
	}
}
