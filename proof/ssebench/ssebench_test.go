package ssebench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/proof/part"
	"github.com/millrace-go/millrace/proof/report"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Part {
		if err := Take(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// A run that checks the harness, without figures worth reading. The harness checks
// that no client is missed: it waits for every event, and for every ping.
func TestRun(t *testing.T) {
	cfg := Config{Conns: 20, Burst: 5, Span: 20 * time.Millisecond, Rounds: 2, Held: 50, Ping: 100 * time.Millisecond, Most: 20}
	var out bytes.Buffer
	rec := report.To(&out)
	if err := Run(t.Context(), cfg, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if s := rec.Section(); len(s.Charts) != 3 || len(s.Figures) != 3*len(contenders) || len(s.Figures[0].Rounds) != cfg.Rounds || len(s.Charts[0].Goals) != 2 {
		t.Errorf("recorded are %+v", s)
	}
	text := out.String()
	for what, n := range map[string]int{
		"\nround ": 9, "goal <= 20 ": 1, "goal <= 3 ": 1, "goal >= 1.3 ": 2, "goal >= 3 ": 1, "goal >= 2 ": 2, "goal = 0 ": 2,
		"50 streams held, millrace lean, by 3 servers": 1, "50 streams held, millrace portable, by 3 servers": 1,
		"\nstreams that have ended, millrace ": 2, "\nMB of all servers, millrace ": 2,
	} {
		if got := strings.Count(text, what); got != n {
			t.Errorf("%q is there %d times instead of %d in\n%s", what, got, n, text)
		}
	}
	for _, c := range contenders {
		if got := strings.Count(text, "\n"+c.name+"  "); got != 1 {
			t.Errorf("%s is in the table %d times in\n%s", c.name, got, text)
		}
	}
}

func TestConfig(t *testing.T) {
	for says, cfg := range map[string]Config{"open files": {Conns: 11, Most: 10}, "at least": {Size: 3}} {
		if err := Run(t.Context(), cfg, report.To(&bytes.Buffer{})); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// A child that cannot answer a line says so.
func TestChildrenTellTheirTrouble(t *testing.T) {
	for says, args := range map[string][]string{
		"no contender": {"server", "nobody", "200", "1s"}, "is no part": {"nothing"}, "invalid syntax": {"crowd", "127.0.0.1:1", "many"},
	} {
		c, err := part.Start(t.Context(), Part, args...)
		require.NoError(t, err)
		if _, err := c.Next(t.Context()); err == nil {
			t.Errorf("%q answers", args)
		}
		if err := c.Close(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	c, err := part.Start(t.Context(), Part, "crowd", "127.0.0.1:1", "1")
	require.NoError(t, err)
	for what, says := range map[string]string{"open": "refused", "dance": "what is"} {
		if _, err := c.Ask(t.Context(), "%s", what); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", what, err, says)
		}
	}
	assert.NoError(t, c.Close())
}

// Counted events have the announced size, and are counted once.
func TestEvents(t *testing.T) {
	for _, size := range []int{minSize, 200} {
		d := data(size, counted)
		if len("data: ")+len(d)+len("\n\n") != size || bytes.Count(d, []byte{counted}) != 1 || bytes.ContainsAny(d, "g^") {
			t.Errorf("%q", d)
		}
	}
}
