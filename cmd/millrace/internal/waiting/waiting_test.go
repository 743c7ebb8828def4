package waiting_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/cmd/millrace/internal/waiting"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is an application's rooms, beside the tool's.
type house struct {
	*waiting.Rooms
	client redis.UniversalClient
	lines  queuedriver.Store
	gates  driver.Store
}

// onEach runs a test on a Redis and on a Redis Cluster.
func onEach(t *testing.T, test func(t *testing.T, h house)) {
	for name, raw := range map[string]func(testing.TB) string{
		"redis":   servicetest.Redis,
		"cluster": func(t testing.TB) string { return "redis://" + servicetest.RedisCluster(t) + "/" },
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, raw(t))) })
	}
}

func open(t *testing.T, raw string) house {
	t.Helper()
	prefix := "t" + uuid.NewString()[:8] + ":"
	var h house
	var err error
	if h.Rooms, err = waiting.Open(raw, prefix); err != nil {
		t.Fatal(err)
	}
	if h.client, err = redisdb.Open(raw, redisdb.Config{}); err != nil {
		t.Fatal(err)
	}
	if h.lines, err = redisqueue.New(h.client, redisqueue.Config{Prefix: prefix}); err != nil {
		t.Fatal(err)
	}
	if h.gates, err = redisgate.New(h.client, redisgate.Config{Prefix: prefix}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Every key of an event has the tag in its name; these are all that the tests use.
		events, err := h.Events(context.Background())
		for _, e := range append(events, "unused") {
			for _, key := range []string{"room", "threshold", "queue", "waiting", "versions", "slots", "used", "runs", "active", "active-seen", "reserved", "entry", "missed", "stays", "turns", "vwr"} {
				if err == nil {
					err = h.client.Del(context.Background(), prefix+"{"+e+"}:"+key).Err()
				}
			}
		}
		for _, key := range []string{"queue:active-events", "vwr:events"} {
			if err == nil {
				err = h.client.Del(context.Background(), prefix+key).Err()
			}
		}
		assert.NoError(t, err)
		assert.NoError(t, h.Close())
		assert.NoError(t, h.client.Close())
	})
	return h
}

// rules of an application, which the tool does not know.
func rules() queuedriver.Rules {
	return queuedriver.Rules{
		Threshold: 2, Active: time.Hour, Seen: time.Hour, NoShow: time.Hour, Tick: time.Second, Batch: 3, SweepEvery: time.Minute, Settle: time.Second,
	}
}

func (h house) come(t *testing.T, event string, n int) queue.State {
	t.Helper()
	visits := make([]queuedriver.Visit, n)
	for i := range visits {
		visits[i] = queuedriver.Visit{Kind: queuedriver.Check, User: fmt.Sprint("user-", i)}
	}
	v, err := h.lines.Visit(t.Context(), event, rules(), queuedriver.Beats{}, visits)
	require.NoError(t, err)
	return v.State
}

func TestEvents(t *testing.T) {
	onEach(t, func(t *testing.T, h house) {
		if events, err := h.Events(t.Context()); err != nil || len(events) > 0 {
			t.Fatalf("at first %v, %v", events, err)
		}
		h.come(t, "show-1", 7)
		h.come(t, "show-2", 1)
		_, err := h.gates.Switch(t.Context(), "show-3", true)
		require.NoError(t, err)
		_, err = h.gates.Switch(t.Context(), "show-2", true)
		require.NoError(t, err)
		_, err = h.gates.Assign(t.Context(), "show-2", 40)
		require.NoError(t, err)
		before := h.come(t, "show-1", 0)
		told := 0
		all, err := h.Look(t.Context(), nil, func(done, of int) { told = done })
		require.NoError(t, err)
		ids := []string{}
		for _, e := range all {
			ids = append(ids, e.ID)
			if !e.Listed || e.Set {
				t.Errorf("%s: listed %v, set %v", e.ID, e.Listed, e.Set)
			}
		}
		if !slices.Equal(ids, []string{"show-1", "show-2", "show-3"}) || told != 3 {
			t.Fatalf("found %v, told of %d", ids, told)
		}
		if e := all[0]; e.Waiting != 5 || e.Active != 2 || e.Gate.Epoch != 0 {
			t.Errorf("show-1: %+v", e)
		}
		if e := all[1]; !e.Gate.On || e.Gate.Assigned != 40 || e.Gated {
			t.Errorf("show-2: %+v", e)
		}
		if e := all[2]; !e.Gate.On || e.Waiting+e.Active != 0 {
			t.Errorf("show-3: %+v", e)
		}
		if after := h.come(t, "show-1", 0); after.Waiting != before.Waiting || after.Active != before.Active || after.Epoch != before.Epoch {
			t.Errorf("asking changed %+v into %+v", before, after)
		}
		some, err := h.Look(t.Context(), []string{"unused", "show-1"}, nil)
		if err != nil || len(some) != 2 || some[0].Listed || some[0].Set || !some[1].Listed {
			t.Errorf("of two, %+v, %v", some, err)
		}
	})
}

// A missing event is reported with those that are in use, and gets no room. An event with a
// threshold that was set before its sale exists.
func TestMissing(t *testing.T) {
	onEach(t, func(t *testing.T, h house) {
		h.come(t, "show-1", 1)
		ask := func(want string, ids ...string) {
			t.Helper()
			missing, there, err := h.Missing(t.Context(), ids)
			if err != nil || missing != want || len(ids) > 0 && !slices.Equal(there, []string{"show-1"}) {
				t.Errorf("of %v, %q is missing beside %v, %v; want %q", ids, missing, there, err, want)
			}
		}
		for range 2 {
			ask("show-9", "show-1", "show-9")
		}
		ask("")
		ask("", "show-1")
		_, _, err := h.SetThreshold(t.Context(), "show-2", 5)
		require.NoError(t, err)
		ask("", "show-2")
	})
}

func TestThreshold(t *testing.T) {
	onEach(t, func(t *testing.T, h house) {
		h.come(t, "show-1", 7)
		before, after, err := h.SetThreshold(t.Context(), "show-1", 4)
		if err != nil || before.Set || !after.Set || after.Threshold != 4 || after.Active != 2 {
			t.Fatalf("%+v, then %+v, %v", before, after, err)
		}
		admission, err := h.lines.Admit(t.Context(), "show-1", rules())
		if err != nil || admission.Active+admission.Entitled != 4 || admission.Threshold != 4 {
			t.Fatalf("admitted up to %d of %d, %v", admission.Active, admission.Threshold, err)
		}
		before, after, err = h.SetThreshold(t.Context(), "show-1", 1)
		if err != nil || !before.Set || before.Threshold != 4 || after.Threshold != 1 || after.Active != 2 || after.Entitled != 2 {
			t.Errorf("lowered: %+v, then %+v, %v", before, after, err)
		}
		if _, _, err := h.SetThreshold(t.Context(), "show-1", -1); err == nil || !strings.Contains(err.Error(), "threshold is -1") {
			t.Errorf("a negative one: %v", err)
		}
	})
}

// The first failure is reported, and not the cancellation of the others.
func TestAway(t *testing.T) {
	rooms, err := waiting.Open("redis://127.0.0.1:1/0", "")
	require.NoError(t, err)
	defer rooms.Close()
	if _, err := rooms.Look(t.Context(), []string{"a", "b", "c"}, nil); err == nil || strings.Contains(err.Error(), "canceled") {
		t.Errorf("without a server: %v", err)
	}
	for raw, want := range map[string]string{"http://x": "neither redis nor rediss", "redis://h/?prefix=x": `unknown parameter "prefix"`} {
		if _, err := waiting.Open(raw, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := waiting.Open("redis://h", "{"); err == nil {
		t.Error("a prefix with a brace is taken")
	}
}
