package scenarios

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// proveEnv chooses the servers of the scenarios. Set by scripts/prove; without it the
// scenarios use the servers and the time of plain tests.
const proveEnv = "MILLRACE_PROVE"

// column is one of the two sets of servers for every scenario.
type column string

const (
	embedded column = "embedded" // the embedded defaults, nothing installed
	servers  column = "servers"  // Kafka, PostgreSQL and a Redis Cluster of three, in several processes
)

// proved is the chosen column, and "" in plain tests.
func proved(t testing.TB) column {
	t.Helper()
	c := column(os.Getenv(proveEnv))
	if c != "" && c != embedded && c != servers {
		t.Fatalf("%s=%q: use embedded or servers, or leave it out", proveEnv, c)
	}
	return c
}

// columns runs a scenario on the chosen column. Plain tests take the embedded
// defaults: servers are many processes, and minutes.
func columns(t *testing.T, onEmbedded, onServers func(t *testing.T)) {
	t.Helper()
	columnsBesideRedis(t, func(t *testing.T) {
		servicetest.Embedded(t)
		onEmbedded(t)
	}, onServers)
}

// columnsBesideRedis is columns for a scenario that starts a Redis on both.
func columnsBesideRedis(t *testing.T, onEmbedded, onServers func(t *testing.T)) {
	t.Helper()
	if proved(t) != servers {
		t.Run(string(embedded), onEmbedded)
		return
	}
	t.Run(string(servers), onServers)
}

// onServersOnly fails where a scenario is asked for on the embedded defaults though
// they rule it out: scripts/prove/columns.txt has the reason.
func onServersOnly(t *testing.T) {
	t.Helper()
	if proved(t) == embedded {
		t.Fatal("the embedded defaults rule this scenario out; scripts/prove lists it as n/a")
	}
}

// often is n with proveEnv, and few in plain tests.
func often(t testing.TB, n, few int) int {
	t.Helper()
	if proved(t) == "" {
		return few
	}
	return n
}

// measured logs a figure that scripts/prove shows in its table.
func measured(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf("measured: "+format, args...)
}

// unchanged bounds a value that must not grow, as a multiple of the unloaded control.
const unchanged = 1.2

// rounds plays a control and the judged scenario in turn, three times with proveEnv,
// and returns the round whose ratio is the median.
func rounds(t testing.TB, control, judged func() time.Duration) (r round) {
	t.Helper()
	var all []round
	for range often(t, 3, 1) {
		all = append(all, round{control: control(), judged: judged()})
	}
	slices.SortFunc(all, func(a, b round) int {
		switch {
		case a.ratio() < b.ratio():
			return -1
		case a.ratio() > b.ratio():
			return 1
		}
		return 0
	})
	return all[len(all)/2]
}

// round is one measurement beside its control.
type round struct{ control, judged time.Duration }

func (r round) ratio() float64 { return float64(r.judged) / float64(max(r.control, 1)) }

// The median is the middle one of three by its ratio, for any times.
func TestRounds(t *testing.T) {
	t.Setenv(proveEnv, string(servers))
	controls := []time.Duration{10, 100, 1000}
	loads := []time.Duration{30, 110, 2000}
	at := 0
	got := rounds(t, func() time.Duration { return controls[at] }, func() time.Duration { at++; return loads[at-1] })
	if got.control != 1000 || got.judged != 2000 || got.ratio() != 2 {
		t.Errorf("%+v, want the round of 1000 and 2000", got)
	}
	t.Setenv(proveEnv, "")
	at = 0
	if got := rounds(t, func() time.Duration { return 10 }, func() time.Duration { at++; return 20 }); at != 1 || got.ratio() != 2 {
		t.Errorf("%d rounds in a plain test: %+v", at, got)
	}
}
