package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// rooms are an application's waiting rooms: its URL, its prefix and its store.
type rooms struct {
	url, prefix string
	client      redis.UniversalClient
	lines       queuedriver.Store
	gates       driver.Store
}

// eachRedis runs a test on a Redis and on a Redis Cluster.
func eachRedis(t *testing.T, test func(t *testing.T, r rooms)) {
	for name, raw := range map[string]func(testing.TB) string{
		"redis":   servicetest.Redis,
		"cluster": func(t testing.TB) string { return "redis://" + servicetest.RedisCluster(t) + "/" },
	} {
		t.Run(name, func(t *testing.T) { test(t, openRooms(t, raw(t))) })
	}
}

func openRooms(t *testing.T, raw string) rooms {
	t.Helper()
	r := rooms{url: raw, prefix: "t" + uuid.NewString()[:8] + ":"}
	var err error
	if r.client, err = redisdb.Open(raw, redisdb.Config{}); err == nil {
		if r.lines, err = redisqueue.New(r.client, redisqueue.Config{Prefix: r.prefix}); err == nil {
			r.gates, err = redisgate.New(r.client, redisgate.Config{Prefix: r.prefix})
		}
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, event := range []string{"show-1", "show-2", "show-9"} {
			for _, key := range []string{"room", "threshold", "queue", "waiting", "versions", "slots", "used", "runs", "active", "active-seen", "reserved", "entry", "missed", "stays", "turns", "vwr"} {
				err = cmpError(err, r.client.Del(context.Background(), r.prefix+"{"+event+"}:"+key).Err())
			}
		}
		err = cmpError(err, r.client.Del(context.Background(), r.prefix+"queue:active-events").Err())
		err = cmpError(err, r.client.Del(context.Background(), r.prefix+"vwr:events").Err())
		if err = cmpError(err, r.client.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func cmpError(first, other error) error {
	if first != nil {
		return first
	}
	return other
}

func applicationRules(threshold int) queuedriver.Rules {
	return queuedriver.Rules{Threshold: threshold, Active: time.Hour, Seen: time.Hour, NoShow: time.Hour, Tick: time.Second, Batch: 3, SweepEvery: time.Minute, Settle: time.Second}
}

// come sends n visitors to a room for 2, with the rules of an application.
func (r rooms) come(t *testing.T, event string, n int) {
	t.Helper()
	visits := make([]queuedriver.Visit, n)
	for i := range visits {
		visits[i] = queuedriver.Visit{Kind: queuedriver.Check, User: fmt.Sprint("user-", i)}
	}
	_, err := r.lines.Visit(t.Context(), event, applicationRules(2), queuedriver.Beats{}, visits)
	require.NoError(t, err)
}

func TestQueue(t *testing.T) {
	eachRedis(t, func(t *testing.T, r rooms) {
		at := func(args ...string) []string {
			return append(append([]string{"queue"}, args...), "--redis", r.url, "--prefix", r.prefix)
		}
		tool(t, at("status")...).want(t, 0, "nobody waits or is active")
		cli.Golden(t, "queue-status-none.json", tool(t, at("status", "--json")...).want(t, 0).out)
		r.come(t, "show-1", 402)
		r.come(t, "show-2", 1)
		_, err := r.gates.Switch(t.Context(), "show-2", true)
		require.NoError(t, err)
		_, err = r.gates.Assign(t.Context(), "show-2", 40)
		require.NoError(t, err)
		told := tool(t, at("status")...).want(t, 0, "the room behind the gate does not know yet")
		cli.Golden(t, "queue-status.txt", told.out)
		cli.Golden(t, "queue-status.json", tool(t, at("status", "--json")...).want(t, 0).out)

		cli.Golden(t, "queue-threshold.txt", tool(t, at("threshold", "show-1")...).want(t, 0).out)
		cli.Golden(t, "queue-threshold-raised.txt", tool(t, at("threshold", "show-1", "4")...).want(t, 0).out)
		cli.Golden(t, "queue-threshold-lowered.txt", tool(t, at("threshold", "show-1", "1")...).want(t, 0, "nobody is expelled").out)
		cli.Golden(t, "queue-threshold.json", tool(t, at("threshold", "show-1", "0", "--json")...).want(t, 0).out)
		tool(t, at("threshold", "show-1", "0")...).want(t, 0, "nobody is let in any more")
		tool(t, at("threshold", "show-1", "-1")...).want(t, 2, `threshold is "-1"`)
		tool(t, at("status", "bad{event}")...).want(t, 1, `there is no event "bad{event}"`)
		tool(t, at("threshold", "bad{event}", "5", "--new")...).want(t, 1, "brace")

		// The Tab key offers events in use, without those already named.
		for line, want := range map[string]string{"status": "show-1\nshow-2\n", "status show-2": "show-1\n", "threshold": "show-1\nshow-2\n", "threshold show-1": ""} {
			args := append([]string{"__complete"}, at(strings.Fields(line)...)...)
			if got := tool(t, append(args, "")...); got.code != 0 || got.out != want+":4\n" {
				t.Errorf("%q offers %q, want %q", line, got.out, want)
			}
		}
	})
}

// TestQueueWait: by how long people may stay where the threshold is known, else by the
// last admissions.
func TestQueueWait(t *testing.T) {
	eachRedis(t, func(t *testing.T, r rooms) {
		wait := func() *int {
			t.Helper()
			var got struct {
				Events []struct {
					Wait *int `json:"estimatedWaitSeconds"`
				} `json:"events"`
			}
			out := tool(t, "queue", "status", "--json", "--redis", r.url, "--prefix", r.prefix).want(t, 0).out
			if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Events) != 1 {
				t.Fatalf("%v: %s", err, out)
			}
			return got.Events[0].Wait
		}
		r.come(t, "show-1", 42)
		if got := wait(); got != nil {
			t.Errorf("nobody knows the threshold, nobody was let in, and the wait is %d s", *got)
		}
		a, err := r.lines.Admit(t.Context(), "show-1", applicationRules(3))
		if err != nil || len(a.Admitted) != 1 {
			t.Fatalf("%d turns: %v", len(a.Admitted), err)
		}
		turn := []queuedriver.Visit{{Kind: queuedriver.Check, User: a.Admitted[0].User}}
		_, err = r.lines.Visit(t.Context(), "show-1", applicationRules(3), queuedriver.Beats{}, turn)
		require.NoError(t, err)
		if got := wait(); got == nil || *got < 1 || *got > 40*60 {
			t.Errorf("39 wait, one was let in just now, and the wait is %v", got)
		}
		two := 2
		_, err = r.lines.Change(t.Context(), "show-1", applicationRules(2), queuedriver.Change{Threshold: &two})
		require.NoError(t, err)
		if got := wait(); got == nil || *got < 20*20*60 || *got > 20*60*60 {
			t.Errorf("40 wait for two places of an hour each, and the wait is %v", got)
		}
	})
}

func TestQueueAway(t *testing.T) {
	got := tool(t, "queue", "status", "--redis", "redis://:geheim@127.0.0.1:1/0", "--json").want(t, 1, "127.0.0.1:1")
	assert.Equal(t, "", got.out, "something on the standard output")
}
