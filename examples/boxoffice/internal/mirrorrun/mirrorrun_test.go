package mirrorrun

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestMain is also the upstream that a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "upstream" {
		os.Exit(upstream.Main(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	}
	// The Kafka client has one for the whole process, for good.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// small is a run for any machine. Its demand is so low that no pause of the
// upstream's process bunches 500 calls together.
func small(t *testing.T, args ...string) settings {
	t.Helper()
	c, err := parse(append([]string{"--seconds", "3", "--rest", "1", "--body-bytes", "3000", "--latency", "5ms", "--high", "20", "--low", "40"}, args...),
		func(string) string { return "" }, io.Discard)
	require.NoError(t, err)
	c.program, c.temp, c.ramp = os.Args[0], t.TempDir(), time.Second
	return c
}

func TestMirrorRun(t *testing.T) {
	c := small(t)
	c.calm = 500 * time.Millisecond
	var out, errs bytes.Buffer
	if code := run(t.Context(), c, screen.New(&out, true), &errs); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out.String(), errs.String())
	}
	for _, want := range []string{
		"ok windows above 500 at the upstream 0;", "high and low were both served", "every artist that was followed turned fresh",
		"ok every read was answered 0 failed", "at rest", "broker 1 s slow", "n/a: what Redis keeps is in the office's own process",
	} {
		if !strings.Contains(plain(&out), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	if left, err := os.ReadDir(c.temp); err != nil || len(left) != 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// The whole run on real servers; the topics are those of every box office on the
// broker, so nothing else may run there meanwhile.
func TestOnServers(t *testing.T) {
	for _, on := range []struct {
		name    string
		db, bus func(testing.TB) string
	}{
		{"Kafka", servicetest.PostgresURL, func(t testing.TB) string { return "kafka://" + servicetest.Kafka(t) + "/" }},
		{"PostgreSQL", servicetest.PostgresURL, func(testing.TB) string { return "" }},
		{"MariaDB", servicetest.MariaDBURL, func(testing.TB) string { return "" }},
		{"MySQL", servicetest.MySQLURL, func(testing.TB) string { return "" }},
	} {
		t.Run(on.name, func(t *testing.T) {
			args := []string{"--redis-url", servicetest.Redis(t), "--db-url", on.db(t)}
			if url := on.bus(t); url != "" {
				args = append(args, "--bus-url", url)
			}
			var out, errs bytes.Buffer
			if code := run(t.Context(), small(t, args...), screen.New(&out, true), &errs); code != 0 {
				t.Fatalf("exit %d\n%s\n%s", code, out.String(), errs.String())
			}
			if !strings.Contains(plain(&out), "while Redis is away nobody is told how long it takes 0 of") {
				t.Errorf("no word of Redis in:\n%s", out.String())
			}
		})
	}
}

// plain is the output with single spaces: columns are as wide as their texts.
func plain(out *bytes.Buffer) string { return strings.Join(strings.Fields(out.String()), " ") }

// sound is a result in which everything holds.
func sound() *result {
	r := &result{elapsed: time.Second, cores: 2, office: figures{}, began: figures{}, load: &readers{turned: []time.Duration{time.Second}}}
	r.after.Classes = map[string]upstream.Class{"high": {Calls: 100}, "low": {Calls: 350}}
	r.after.Calls, r.last.Worst.Calls = 450, 470
	r.served.Classes = map[string]upstream.Class{"high": {Calls: 110}, "low": {Calls: 360}}
	return r
}

func TestWindowsAboveTheLimit(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*result)
		want  string // the broken or missed check; "" for none
		sound bool
	}{
		"nothing":      {func(*result) {}, "", true},
		"a window":     {func(r *result) { r.last.Violations = 1 }, "BROKEN windows above 500", false},
		"a ban":        {func(r *result) { r.last.Bans = 1 }, "BROKEN windows above 500", false},
		"no low":       {func(r *result) { r.served.Classes["low"] = upstream.Class{} }, "BROKEN high and low", false},
		"never fresh":  {func(r *result) { r.load.never = 1 }, "BROKEN every artist", false},
		"a failure":    {func(r *result) { r.load.failed, r.load.failure = 1, io.EOF }, "BROKEN every read was answered 1 failed, the first with: EOF", false},
		"slow refresh": {func(r *result) { r.load.turned[0] = 4 * time.Second }, "MISSED high, from the read until fresh", true},
		"slow reads": {func(r *result) {
			r.phases = []phase{{name: "at rest", reads: &readers{took: []time.Duration{time.Second}}}}
		}, "MISSED reads, at rest", true},
		"a promise without Redis": {func(r *result) {
			r.phases = []phase{{name: "Redis away", reads: &readers{took: []time.Duration{1}, estimates: 1}}}
		}, "BROKEN while Redis is away", false},
	} {
		r := sound()
		c.spoil(r)
		var out bytes.Buffer
		got := r.report(screen.New(&out, true))
		marks := strings.Count(out.String(), "BROKEN") + strings.Count(out.String(), "MISSED")
		if (got == nil) != c.sound || !strings.Contains(plain(&out), c.want) || (marks == 0) != (c.want == "") {
			t.Errorf("%s: %v, want sound %v with %q:\n%s", name, got, c.sound, c.want, out.String())
		}
	}
}

func TestBound(t *testing.T) {
	r := sound()
	assert.Equal(t, "the budget", r.bound(), "at 450/s")
	r.after.Calls = 300
	assert.Contains(t, r.bound(), "not known", "without /proc")
	if r.cpuKnown, r.cpuUpstream, r.cpuOffice = true, time.Second, 900*time.Millisecond; !strings.HasPrefix(r.bound(), "the processors: 1.90 of 2") {
		t.Errorf("busy: %s", r.bound())
	}
	if r.cpuOffice = 0; !strings.HasPrefix(r.bound(), "time, not processors") {
		t.Errorf("idle: %s", r.bound())
	}
}

func TestMean(t *testing.T) {
	after, before := figures{`a_sum{x="1"}`: 5, `a_count{x="1"}`: 4}, figures{`a_sum{x="1"}`: 1, `a_count{x="1"}`: 2}
	assert.Equal(t, 2*time.Second, after.mean(before, "a", `{x="1"}`), "mean")
	assert.EqualValues(t, 0, before.mean(before, "a", `{x="1"}`), "mean of nothing")
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--seconds 0": "--seconds", "--rest 0": "--rest", "--body-bytes 9": "--body-bytes", "--latency 9s": "--latency",
		"--high 0": "--high", "--low 2000": "--low", "now": "unexpected argument",
		"--redis-url rediss://u:hunter2@h": "--redis-url", "--redis-url redis://u:hunter2@a,b": "--redis-url",
	} {
		_, err := parse(strings.Fields(args), func(string) string { return "" }, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, err := parse([]string{"--help"}, func(string) string { return "" }, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
	c, err := parse(nil, func(name string) string { return map[string]string{"BOXOFFICE_REDIS_URL": "redis://h"}[name] }, io.Discard)
	if err != nil || c.redisURL != "redis://h" || c.seconds != 60 || c.bodyBytes != 300_000 {
		t.Errorf("%+v, %v", c, err)
	}
	assert.Equal(t, 2, Main(t.Context(), []string{"--seconds", "0"}, io.Discard, io.Discard), "exit")
}
