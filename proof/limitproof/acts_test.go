package limitproof

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

// TestAllActs asserts the results that hold on a machine of any speed: nothing is
// violated, and the broken arithmetic is noticed. Goals are left to the command.
func TestAllActs(t *testing.T) {
	c := small(t)
	for i := range c.acts {
		c.acts[i].wants = wants{broken: c.acts[i].wants.broken}
	}
	var out bytes.Buffer
	s := &stage{cfg: c}
	rows, err := playAll(t.Context(), s, screen.New(&out, true))
	assert.NoError(t, s.close(false))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	broken, seen := false, map[string]bool{}
	for _, r := range rows {
		seen[r.outcome.act.key] = true
		for _, v := range r.verdict.violations {
			t.Errorf("%s: %s", r.name(), v)
		}
		if r.outcome.act.wants.broken {
			broken = broken || r.verdict.ok()
		} else if r.outcome.figures.calls == 0 {
			t.Errorf("%s: no call was made", r.name())
		}
	}
	assert.Len(t, seen, len(everyAct()), "played")
	assert.True(t, broken, "what is broken on purpose was not noticed")
	t.Logf("\n%s%s", table(c, rows), remarks(rows, 0))
}

// TestInterrupt leaves no process behind, also when some are stopped: each has a
// goroutine that waits for it, which goleak would find.
func TestInterrupt(t *testing.T) {
	c := small(t)
	c.seconds = 600
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.acts = []act{actOf(t, "stop")}
	c.acts[0].fault = func(ctx context.Context, p *plot) (happened, error) {
		p.during.from = boottime.Now()
		time.AfterFunc(100*time.Millisecond, cancel) // any moment is good
		return stopWorkers(ctx, p)
	}
	var out, stderr bytes.Buffer
	if code := run(ctx, c, screen.New(&out, true), &stderr); code != command.Interrupted {
		t.Errorf("exit code %d: %s\n%s", code, stderr.String(), out.String())
	}
	assert.Contains(t, out.String(), "Interrupted", "it does not say so")
	left, err := os.ReadDir(c.temp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A worker that dies is no proof.
func TestDeadWorker(t *testing.T) {
	c := small(t)
	c.seconds = 600
	c.acts = []act{actOf(t, "steady")}
	c.acts[0].fault = func(_ context.Context, p *plot) (happened, error) {
		p.workers[0].Kill()
		return happened{}, nil
	}
	var out, stderr bytes.Buffer
	if code := run(t.Context(), c, screen.New(&out, true), &stderr); code != command.Broken || !strings.Contains(stderr.String(), "worker 1") {
		t.Errorf("exit code %d: %s\n%s", code, stderr.String(), out.String())
	}
}
