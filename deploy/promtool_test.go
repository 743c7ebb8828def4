package deploy

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("MILLRACE_REQUIRE_SERVICES") == "1" {
			t.Fatal("promtool is not there; install Debian's package prometheus")
		}
		t.Skip("promtool is not there (Debian: apt-get install prometheus)")
	}
	for _, args := range [][]string{
		{"check", "config", "prometheus/prometheus.yml"},
		{"check", "rules", "--lint-fatal", "prometheus/millrace.yml", "prometheus/boxoffice.yml"},
		{"test", "rules", "prometheus/millrace_test.yml", "prometheus/boxoffice_test.yml"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, promtool, args...).CombinedOutput()
		cancel()
		assert.NoErrorf(t, err, "promtool %v: %v\n%s", args, err, out)
	}
}
