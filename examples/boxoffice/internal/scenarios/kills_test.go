package scenarios

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/internal/pgdb"
)

// killSeed chooses the moments and the victims.
const killSeed = 18

// Relay, consumer, flusher and admitter are killed (kill -9) at random moments while
// a crowd books, pays, comments and waits in line: the answers to the crowd hold, and
// so do the books and the payment gateway's own ledger.
func TestScenario18Kills(t *testing.T) {
	columns(t, func(t *testing.T) {
		// On the embedded defaults all four are one process. The program of make chaos kills
		// it, and then the relay alone between its publish and its cursor.
		kills, relays := often(t, 90, 3), often(t, 10, 1)
		chaos, err := launch.Build(t.Context(), t.TempDir(), "github.com/millrace-go/millrace/proof/cmd/chaos")
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), chaos, "--plain", "--kills", strconv.Itoa(kills),
			"--relay-kills", strconv.Itoa(relays), "--seed", strconv.Itoa(killSeed), "--concurrency", "24")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil || strings.Count(out.String(), "OK: all") != 2 {
			t.Fatalf("%v\n%s", err, out.String())
		}
		measured(t, "%d kills of the one process, %d of the relay between publish and cursor: all checks hold", kills, relays)
	}, func(t *testing.T) {
		o := openOffice(t, officePlan{processes: apart(), hold: 20 * time.Second})
		db, err := pgdb.Open(o.db)
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the pool", db.Close()) })
		v := o.visit(24, killSeed, o.apis()...)
		v.some(3)
		draw := rand.New(rand.NewPCG(killSeed, 'k'))
		hit, flushers := map[string]int{}, map[string]bool{}
		for n := range 100 {
			// The jobs take turns, so that each has its share.
			job := []string{"relay", "consumer", "flusher", "admitter"}[n%4]
			victim := ""
			switch job {
			case "relay":
				victim = o.called("relay")[draw.IntN(2)]
			case "admitter":
				victim = "admitter"
			case "consumer":
				victim = o.called("worker")[draw.IntN(2)]
			case "flusher":
				// The flusher is in one of the workers, under a name of its own: another name
				// shows that the last one was hit.
				victim = o.called("worker")[draw.IntN(2)]
				var holder string
				require.NoError(t, db.QueryRowContext(t.Context(), flusherLease).Scan(&holder), "who flushes")
				flushers[holder] = true
			}
			o.kill(victim)
			hit[job]++
			o.begin(victim)
			if draw.IntN(10) == 0 { // the start is killed as well
				time.Sleep(time.Duration(draw.Int64N(int64(100 * time.Millisecond))))
				o.kill(victim)
				o.begin(victim)
				hit["a start"]++
			}
			time.Sleep(time.Duration(draw.Int64N(int64(700 * time.Millisecond)))) // the random moment
		}
		for _, name := range o.order {
			o.ready(name)
		}
		v.leave()
		if len(flushers) < 3 {
			t.Errorf("the flusher was in %d processes, one after the other: hardly one was killed at its work", len(flushers))
		}
		for _, job := range []string{"relay", "consumer", "flusher", "admitter"} {
			if hit[job] < 25 {
				t.Errorf("%d kills of the %s, want 25", hit[job], job)
			}
		}
		measured(t, "100 kills: %v; the flusher was in %d processes, one after the other; the last two workers skipped %.0f events that were handled",
			hit, len(flushers), o.metric(skippedTwice, o.called("worker")...))
	})
}

// flusherLease reads the holder of the lease of the comment counts.
const flusherLease = `SELECT holder FROM count_flushers ORDER BY leased_until DESC LIMIT 1`
