package onsale

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is an on-sale with every kind of event.
func small() Config {
	return Config{People: 2000, Arrive: 2 * time.Second, Window: 25 * time.Second, Threshold: 50, Batch: 40, Hold: 3 * time.Second, NoShow: 6 * time.Second, Crash: 0.1, Leave: 0.1, Workers: 32}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := small()
		cfg.Memory = true
		var out bytes.Buffer
		if err := Run(t.Context(), cfg, &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		text := out.String()
		for _, want := range []string{"Kendall tau 1.000000: 0 of ", "\n 24 s  arrived 2,000 ", "ok      places taken beyond the threshold, by each answer of the store  0 in "} {
			assert.Containsf(t, text, want, "%q is not in\n%s", want, text)
		}
		for _, not := range []string{"BROKEN", " refused", "  late by", "\n  gone                   0 ", ", 0 did not come", ", 0 left the line, ", ", 0 crashed"} {
			assert.NotContainsf(t, text, not, "%q is in\n%s", not, text)
		}
	})
}

// generous has one place more than it should.
type generous struct{ driver.Store }

func (g generous) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, visits []driver.Visit) (driver.Visited, error) {
	r.Threshold++
	v, err := g.Store.Visit(ctx, event, r, b, visits)
	v.Threshold--
	return v, err
}

// stacked admits the last arrivals first, in each tick.
type stacked struct{ driver.Store }

func (s stacked) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	a, err := s.Store.Admit(ctx, event, r)
	slices.Reverse(a.Admitted)
	return a, err
}

// A store that breaks a promise is found out.
func TestBroken(t *testing.T) {
	for what, wrap := range map[string]func(driver.Store) driver.Store{
		"beyond the threshold":     func(s driver.Store) driver.Store { return generous{s} },
		"in the order of arrival ": func(s driver.Store) driver.Store { return stacked{s} },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := small()
				cfg.Memory, cfg.wrap = true, wrap
				var out bytes.Buffer
				err := Run(t.Context(), cfg, &out)
				found := false
				for l := range strings.Lines(out.String()) {
					found = found || strings.Contains(l, what) && strings.Contains(l, "BROKEN")
				}
				if !errors.Is(err, judge.ErrBroken) || !found {
					t.Errorf("%v\n%s", err, &out)
				}
			})
		})
	}
}

func TestRunOnRedis(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	cfg := small()
	cfg.Window = 6 * time.Second
	var out bytes.Buffer
	if err := Run(t.Context(), cfg, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	assert.Containsf(t, out.String(), " B for each of ", "it does not say what Redis needs:\n%s", &out)
}

// A given Redis is left as it was.
func TestRunOnGivenRedis(t *testing.T) {
	cfg := small()
	cfg.URL, cfg.Event = servicetest.Redis(t), "on-sale-"+strconv.FormatInt(time.Now().UnixNano(), 36)
	cfg.People, cfg.Arrive, cfg.Window = 200, 500*time.Millisecond, 2*time.Second
	t.Setenv("PATH", t.TempDir()) // no redis-server there
	var out bytes.Buffer
	if err := Run(t.Context(), cfg, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	assert.Containsf(t, out.String(), "the given Redis", "it does not say whose Redis it was:\n%s", &out)
	client, err := redisdb.Open(cfg.URL, redisdb.Config{})
	require.NoError(t, err)
	defer client.Close() //nolint:errcheck // ends with the test
	if keys, err := client.Keys(t.Context(), "*"+cfg.Event+"*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("%v is left (%v)", keys, err)
	}
	if listed, err := client.SIsMember(t.Context(), "queue:active-events", cfg.Event).Result(); err != nil || listed {
		t.Errorf("the admitters of others serve the event (%v)", err)
	}
}

func TestConfig(t *testing.T) {
	for says, cfg := range map[string]Config{
		"people: -1":     {People: -1},
		"window: 5s":     {Window: 5 * time.Second},
		"noshow at":      {NoShow: time.Millisecond},
		"crash and":      {Crash: 0.7, Leave: 0.7},
		"workers: -2":    {Workers: -2},
		"neither a redi": {}, // without a redis-server and a URL
	} {
		t.Setenv("PATH", t.TempDir())
		if err := Run(t.Context(), cfg, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
