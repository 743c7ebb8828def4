package cli_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
	"github.com/millrace-go/millrace/outbox/driver"
)

// fail notes a failed attempt for every waiting event, as a relay does.
func fail(t *testing.T, b box, state driver.State) {
	t.Helper()
	for shard := range shards {
		l, err := b.Lease(t.Context(), shard, "relay", time.Minute)
		require.NoError(t, err)
		found, err := b.Read(t.Context(), l, driver.Query{Limit: 100})
		require.NoError(t, err)
		set := driver.Settlement{TTL: time.Minute}
		if state == driver.MovedAside {
			set.Move = found.Next
		}
		for i := range found.Items {
			it := &found.Items[i]
			it.Attempts = 4
			set.Failures = append(set.Failures, driver.Failure{
				Item: it, State: state, Attempts: 4, Age: 90 * time.Second, Wait: time.Hour, Error: "refused \x1b[31mfor ever",
			})
		}
		require.NoError(t, b.Settle(t.Context(), l, set))
		require.NoError(t, b.Release(t.Context(), l))
	}
}

// Failing events that are still retried are listed in pages, with their errors, and status
// points to the list.
func TestOutboxFailing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		db := p.open(t)
		for kind, state := range map[string]driver.State{"cursor": driver.MovedAside, "status": driver.Held} {
			b := p.store(t, db, kind)
			at := []string{"--db", p.url, "--kind", kind}
			call := func(args ...string) run { return tool(t, append(args, at...)...) }
			call("outbox", "failing").want(t, 0, "no event fails")
			if status := call("outbox", "status").want(t, 0); strings.Contains(status.err, "failing") {
				t.Errorf("%s: nothing fails, and status says %s", kind, status.err)
			}
			appendTo(t, db, b, "orders", 5)
			fail(t, b, state)
			appendTo(t, db, b, "orders", 2) // these only wait

			type failing struct {
				More   bool
				Events []struct {
					ID                         int64
					Topic, Key, LastError      string
					Aside                      bool
					Attempts                   int
					AgeSeconds                 float64
					FailedSince, NextAttemptAt time.Time
				}
			}
			first := read[failing](t, call("outbox", "failing", "--limit", "2", "--json").want(t, 0))
			if len(first.Events) != 2 || !first.More {
				t.Fatalf("%s: the first page is %+v", kind, first)
			}
			e := first.Events[0]
			if e.Topic != "orders" || !strings.HasPrefix(e.Key, "orders") || e.Attempts != 4 || e.AgeSeconds != 90 || e.Aside != (state == driver.MovedAside) ||
				time.Since(e.FailedSince) > time.Minute || time.Until(e.NextAttemptAt) < 50*time.Minute {
				t.Errorf("%s: %+v", kind, e)
			}
			last := strconv.FormatInt(first.Events[1].ID, 10)
			shown := call("outbox", "failing", "--limit", "2").want(t, 0, "NEXT ATTEMPT", "1m30s", "for ever", "there are more: --after "+last)
			assert.NotContainsf(t, shown.out, "\x1b", "%s: an error commands the terminal: %q", kind, shown.out)
			rest := read[failing](t, call("outbox", "failing", "--after", last, "--json").want(t, 0))
			if len(rest.Events) != 3 || rest.More {
				t.Errorf("%s: the rest is %+v", kind, rest)
			}
			call("outbox", "status").want(t, 0, "failing: 5 events; `millrace outbox failing`")
			call("outbox", "failing", "--limit", "0").want(t, 2, "--limit is 0; give 1 to 10000")
		}
		tool(t, "outbox", "failing", "--db", p.url).want(t, 2, "--kind")
	})
}

func TestGoldenFailing(t *testing.T) {
	t.Parallel()
	p := place{name: "sqlite", url: "sqlite://" + filepath.Join(t.TempDir(), "app.db")}
	db := p.open(t)
	b := p.store(t, db, "cursor")
	golden := func(name, line string) {
		t.Helper()
		cli.Golden(t, name, tool(t, append(strings.Fields(line), "--db", p.url)...).want(t, 0).out)
	}
	golden("outbox-failing-none.json", "outbox failing --json")
	appendTo(t, db, b, "orders", 2)
	fail(t, b, driver.MovedAside)
	golden("outbox-failing.json", "outbox failing --limit 1 --json")
	golden("outbox-failing.txt", "outbox failing")
	golden("outbox-adopt.json", "outbox adopt --json")
}

// If positions move with the data there is nothing to adopt, and no question.
func TestOutboxAdoptWhereNothingIsTo(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		if p.name == "postgres" {
			return // see TestOutboxAdopt
		}
		db := p.open(t)
		tool(t, "outbox", "adopt", "--db", p.url).want(t, 1, "has no outbox, no transport and no log of counters")
		tool(t, "migrate", "up", "--package", "bus,counter-log", "--db", p.url).want(t, 0)
		b := p.store(t, db, "status")
		appendTo(t, db, b, "orders", 3)
		got := tool(t, "outbox", "adopt", "--db", p.url).want(t, 0)
		for _, name := range []string{"outbox (status)", "transport", "counters"} {
			assert.Containsf(t, got.out, name+": positions travel with the data; nothing to adopt", "of %s it says %s", name, got.out)
		}
		if backlog, _, _ := sum(t, tool(t, "outbox", "status", "--json", "--db", p.url).want(t, 0)); backlog != 3 {
			t.Errorf("%d events wait, want 3", backlog)
		}
	})
}
