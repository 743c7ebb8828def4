package chaos_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chaos"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// TestMain is also the child: the test binary starts itself as the box office
// and as its gateway, and is killed.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "child" {
		goleak.VerifyTestMain(m)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	switch os.Args[2] {
	case "die":
		chaos.DieChild()
	case "gateway":
		os.Exit(gateway.Main(ctx, os.Args[3:], os.Stdout, os.Stderr))
	case "serve":
		switch os.Getenv("CHAOS_TEST") {
		case "loses":
			lose()
		case "crashes":
			time.AfterFunc(time.Second, func() {
				fmt.Println("out of memory")
				os.Exit(9)
			})
		}
		os.Exit(app.Main(ctx, os.Args[3:], os.Stdout, os.Stderr))
	}
}

// lose takes a fan's ticket away between two lives of the box office, as a
// database that does not keep what it committed would.
func lose() {
	file := filepath.Join(os.Getenv("BOXOFFICE_DATA_DIR"), "boxoffice.db")
	if _, err := os.Stat(file); err != nil {
		return // the first life
	}
	db, err := sqlitedb.Open(file, sqlitedb.Config{})
	if err == nil {
		_, err = db.Exec(`UPDATE reservations SET status = 'CANCELLED', reason = 'USER_REQUEST', cancelled_at = 1, payment_id = NULL
			WHERE status = 'CONFIRMED'`)
	}
	if err != nil {
		fmt.Println("the test could not lose anything:", err)
		os.Exit(1)
	}
	_ = db.Close()
}

func play(t *testing.T, kills, relayKills int, alive time.Duration) (code int, out, errs string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	code = chaos.Run(ctx, os.Args[0], []string{"child"}, kills, relayKills, alive, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestChaos(t *testing.T) {
	code, out, errs := play(t, 2, 2, 700*time.Millisecond)
	if code != 0 || strings.Count(out, "OK: all") != 2 {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
	if !strings.Contains(out, "every death left a message to repeat") || !strings.Contains(out, "Recovery") {
		t.Errorf("the report is not complete:\n%s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "boxoffice-chaos-*")); code == 0 && len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestChaosFindsLostData(t *testing.T) {
	t.Setenv("CHAOS_TEST", "loses")
	code, out, errs := play(t, 1, 0, 4*time.Second)
	if code != 1 || !strings.Contains(out, "BROKEN  paid means ticket or money back") || !strings.Contains(out, "BROKEN  reservations are as told") {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
	if !strings.Contains(out, "Data folder and logs: ") {
		t.Errorf("the data folder was not kept:\n%s", out)
	}
}

func TestChaosFindsACrash(t *testing.T) {
	t.Setenv("CHAOS_TEST", "crashes")
	code, out, errs := play(t, 3, 0, 5*time.Second)
	if code != 1 || !strings.Contains(errs, "exit status 9") || !strings.Contains(errs, "out of memory") {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
}

func TestChaosUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"not 0 for both": {"--kills", "0", "--relay-kills", "0"},
		"--max-alive":    {"--max-alive", "1ms"},
		"whole seconds":  {"--hold", "1500ms"},
		"--concurrency":  {"--concurrency", "0"},
		"now":            {"now"},
		"-sead":          {"-sead", "1"},
	} {
		var stdout, stderr bytes.Buffer
		if code := chaos.Main(t.Context(), args, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), says) {
			t.Errorf("%v: exit %d %q", args, code, stderr.String())
		}
	}
}
