package onsale

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue/driver"
)

const program = "../../docs/verify-draw.py"

func beforeTheSale() Config {
	return Config{People: 2000, Arrive: 2 * time.Second, Threshold: 50, Batch: 40, Workers: 32}
}

// On Redis the places are compared with the program of the docs as well.
func TestPresaleOnRedis(t *testing.T) {
	for _, needed := range []string{"redis-server", "python3"} {
		if _, err := exec.LookPath(needed); err != nil {
			servicetest.Missing(t, "needs "+needed+" in PATH")
		}
	}
	var out bytes.Buffer
	if err := Presale(t.Context(), beforeTheSale(), program, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if want := "each place is the one that was drawn, by verify-draw.py"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, &out)
	}
}

func TestPresale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := beforeTheSale()
		cfg.Memory = true
		var out bytes.Buffer
		if err := Presale(t.Context(), cfg, "", &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		for _, want := range []string{"2,000 leaves of 2,000 people", "0 of 2,000 are not; 50 are inside"} {
			assert.Containsf(t, out.String(), want, "%q is not in\n%s", want, &out)
		}
	})
}

// favored gives the user of the last order of a draw the first one.
type favored struct{ driver.MemoryStore }

func (f favored) Draw(ctx context.Context, event string, r driver.Rules, s driver.DrawStep) (driver.Drawn, error) {
	if s.Kind == driver.DrawMove && len(s.Moves) > 1 {
		s.Moves = slices.Clone(s.Moves)
		last := len(s.Moves) - 1
		s.Moves[0].Order, s.Moves[last].Order = s.Moves[last].Order, s.Moves[0].Order
	}
	return f.MemoryStore.Draw(ctx, event, r, s)
}

// A room that does not stand in the order that it publishes is found out.
func TestPresaleInAnotherOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := beforeTheSale()
		cfg.Memory, cfg.wrap = true, func(s driver.Store) driver.Store { return favored{s.(driver.MemoryStore)} }
		var out bytes.Buffer
		err := Presale(t.Context(), cfg, "", &out)
		if !errors.Is(err, judge.ErrBroken) || !strings.Contains(out.String(), "BROKEN") {
			t.Errorf("%v\n%s", err, &out)
		}
	})
}
