package gatebench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

// TestMain is also the origin, and Go's proxy.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == Part || os.Args[1] == PartBare) {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		take := func() error { return Take(ctx, os.Stdin, os.Stdout) }
		if os.Args[1] == PartBare {
			take = func() error { return TakeBare(ctx, os.Args[2:]) }
		}
		err := take()
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// A run that checks the harness, without figures worth reading. The harness checks that
// every request is answered by the origin, and that all people wait.
func TestRun(t *testing.T) {
	for _, name := range []string{"nginx", "caddy", "redis-server"} {
		if _, err := find(name); err != nil {
			servicetest.Missing(t, err.Error())
		}
	}
	var out bytes.Buffer
	rec := report.To(&out)
	if err := Run(t.Context(), Config{Rate: 500, Conns: 8, Span: 100 * time.Millisecond, People: 300, Rounds: 1}, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if s := rec.Section(); len(s.Charts) != 3 || len(s.Figures) != 12 || len(s.Charts[0].Goals) != 1 || len(s.Claims) != 19 {
		t.Errorf("recorded are %+v", s)
	}
	if n := strings.Count(out.String(), "goal <= 0.3"); n != 1 {
		t.Errorf("%d goals instead of 1 in\n%s", n, &out)
	}
}

func TestTooShort(t *testing.T) {
	err := Run(t.Context(), Config{Span: time.Millisecond}, report.To(&bytes.Buffer{}))
	if err == nil || !strings.Contains(err.Error(), "give a longer span") {
		t.Error(err)
	}
}

// The wait for a connection is part of a latency, and the generator's own lateness
// is none.
func TestPace(t *testing.T) {
	var late []time.Duration
	pace(20, time.Millisecond, func(due time.Time) bool {
		if len(late) == 0 {
			time.Sleep(10 * time.Millisecond) // no connection is free
		}
		late = append(late, time.Since(due))
		return true
	})
	if late[0] < 10*time.Millisecond || late[1] < 8*time.Millisecond {
		t.Errorf("the wait does not count: %v", late)
	}
	n := 0
	pace(20, time.Nanosecond, func(time.Time) bool { n++; return n < 3 })
	assert.Equal(t, 3, n, "it went on to")
}
