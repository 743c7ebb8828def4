package complaint_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/complaint"
)

func TestOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		var l complaint.Log
		logger := slog.New(slog.NewTextHandler(&out, nil))
		for range 25 {
			l.Error(t.Context(), logger, "no answer", errors.New("away"), "status", 503)
			time.Sleep(100 * time.Millisecond)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Lenf(t, lines, 3, "%d entries in 2.5 s:\n%s", len(lines), &out)
		for i, want := range []string{"not_logged=0", "not_logged=9", "not_logged=9"} {
			if !strings.HasSuffix(lines[i], want) || !strings.Contains(lines[i], "status=503 error=away") {
				t.Errorf("%s; want %s", lines[i], want)
			}
		}
	})
}
