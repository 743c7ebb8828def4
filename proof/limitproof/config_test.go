package limitproof

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
)

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--seconds", "0"}, "--seconds 0: use 1 to 3600"},
		{[]string{"--workers", "0"}, "--workers 0: use 1 to 40"},
		{[]string{"--workers", "41"}, "--workers 41"},
		{[]string{"--workers", "40"}, "cannot hold HardLimit"}, // 450·1.02 + 40 leaves no two bursts
		{[]string{"--acts", "low,nonsense"}, `"nonsense" is unknown: use steady, low, reserve`},
		{[]string{"--redis-server", "/nonexistent/redis-server"}, "apt install redis-server"},
		{[]string{"now"}, `unexpected argument "now"`},
		{[]string{"--fast"}, "not defined"},
	} {
		args := append([]string{"--redis-server", os.Args[0]}, c.args...)
		var out, stderr bytes.Buffer
		if code := Main(t.Context(), args, &out, &stderr); code != command.Usage || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%v: exit code %d, %s", c.args, code, stderr.String())
		}
	}
	var out, stderr bytes.Buffer
	if code := Main(t.Context(), []string{"-h"}, &out, &stderr); code != command.OK || !strings.Contains(stderr.String(), "-seconds") {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
	cfg, err := parse([]string{"--redis-server", os.Args[0], "--acts", "stop, low", "--seed", "7"}, &stderr)
	require.NoError(t, err)
	if len(cfg.acts) != 2 || cfg.acts[0].key != "low" || cfg.acts[1].key != "stop" || cfg.seed != 7 || cfg.workers != 10 || cfg.seconds != 10 {
		t.Errorf("%+v", cfg)
	}
	if cfg, err = parse([]string{"--redis-server", os.Args[0]}, &stderr); err != nil || len(cfg.acts) != len(everyAct()) || cfg.seed == 0 {
		t.Errorf("%d acts, seed %d, %v", len(cfg.acts), cfg.seed, err)
	}
}

// The total demand of the workers does not depend on their number.
func TestDemand(t *testing.T) {
	for _, workers := range []int{1, 10} {
		c := full(t)
		c.workers = workers
		var steady, high float64
		asks := 0
		for i := range workers {
			steady += 1 / actOf(t, "steady").demand(c, i).HighEvery.Seconds()
			d := actOf(t, "reserve").demand(c, i)
			high += 1 / d.HighEvery.Seconds()
			asks += d.LowAsks
		}
		if steady < 149 || steady > 151 || high < 149 || high > 151 || asks != 5000 {
			t.Errorf("%d workers: %.1f/s steady, %.1f/s of high in a flood of %d/s", workers, steady, high, asks)
		}
	}
}
