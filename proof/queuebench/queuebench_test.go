package queuebench

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is a run that checks the harness, without figures worth reading.
func config() Config {
	return Config{
		People: 3000, Ticks: []int{10, 700}, Dead: 900, Span: 100 * time.Millisecond, Rounds: 2,
		Event: "b" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}
}

func smoke(t *testing.T, cfg Config) string {
	t.Helper()
	var out bytes.Buffer
	rec := report.To(&out)
	if err := Run(t.Context(), cfg, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if s := rec.Section(); len(s.Charts) != 4 || len(s.Figures) != 12 || len(s.Figures[0].Rounds) != cfg.Rounds || len(s.Charts[0].Goals) != 1 {
		t.Errorf("recorded are %+v", s)
	}
	text := out.String()
	for what, n := range map[string]int{
		"goal >= 10": 1, "goal >= 3": 1, "goal <= 160": 1, "goal <= 60 ": 1, "goal >= 0.99": 1, "goal <= 5 ": 4, "\njoin 500 in a call  ": 1,
		"\npoll    ": 2, "\npoll without ticket  ": 1, "\njoin    ": 2, "\nadmit 10  ": 2, "\nadmit 700  ": 2, "\nsweep 900  ": 2,
		"3000 people have lined up": 2, "blocks Redis for ": 14,
	} {
		if got := strings.Count(text, what); got != n {
			t.Errorf("%q is there %d times instead of %d in\n%s", what, got, n, text)
		}
	}
	return text
}

// On the server of a URL, which others use too.
func TestRunOnGivenServer(t *testing.T) {
	cfg := config()
	cfg.URL = servicetest.Redis(t)
	t.Setenv("PATH", t.TempDir()) // no redis-server there
	assert.Contains(t, smoke(t, cfg), "others do with the given one", "it does not say whose Redis it")
	client, err := redisdb.Open(cfg.URL, redisdb.Config{})
	require.NoError(t, err)
	defer client.Close() //nolint:errcheck // ends with the test
	keys, err := client.Keys(t.Context(), "*"+cfg.Event+"*").Result()
	if err != nil || len(keys) > 0 {
		t.Errorf("%v is left (%v)", keys, err)
	}
	for _, list := range []string{"queue:active-events", "vwr:events"} {
		if listed, err := client.SIsMember(t.Context(), list, cfg.Event).Result(); err != nil || listed {
			t.Errorf("%s is left in %s (%v)", cfg.Event, list, err)
		}
	}
}

// As many are admitted and swept as the harness asked for, which it checks.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	smoke(t, config())
}

func TestConfig(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for says, cfg := range map[string]Config{"redis-server": {}, "give more people": {People: 1000, Dead: 500}} {
		if err := Run(t.Context(), cfg, report.To(&bytes.Buffer{})); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestSplit(t *testing.T) {
	people := make([]person, 100)
	for i := range people {
		people[i].order = int64(i)
	}
	dead, living := split(people, 30, rand.New(rand.NewPCG(1, 2)))
	byOrder := func(a, b person) int { return int(a.order - b.order) }
	if len(dead) != 30 || len(living) != 70 || !slices.IsSortedFunc(dead, byOrder) || !slices.IsSortedFunc(living, byOrder) {
		t.Errorf("%d and %d", len(dead), len(living))
	}
	all := slices.Concat(dead, living)
	slices.SortFunc(all, byOrder)
	if !slices.Equal(all, people) {
		t.Error("they are not who they were")
	}
}

func TestShuffled(t *testing.T) {
	var ids names
	people := make([]person, 100)
	for i, id := range ids.next(len(people)) {
		people[i] = person{id, "ticket of " + id, int64(i)}
	}
	crowd := shuffled(people, rand.New(rand.NewPCG(1, 2)))
	assert.False(t, slices.Equal(crowd, people), "they stand as before")
	slices.SortFunc(crowd, func(a, b person) int { return int(a.order - b.order) })
	if !slices.Equal(crowd, people) {
		t.Error("they are not who they were")
	}
}

func TestNames(t *testing.T) {
	var n names
	seen := map[string]bool{}
	for _, id := range append(n.next(1000), n.next(1000)...) {
		if len(id) != 16 || seen[id] {
			t.Fatalf("%q", id)
		}
		seen[id] = true
	}
}
