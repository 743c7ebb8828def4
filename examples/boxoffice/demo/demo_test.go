package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/officetest"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// TestMain is also the child: the test binary starts itself as a gateway, or
// as a box office that does not live long.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "child" {
		mode, command, args := os.Args[2], os.Args[3], os.Args[4:]
		if command == "gateway" {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			os.Exit(gateway.Main(ctx, args, os.Stdout, os.Stderr))
		}
		mortal(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// mortal becomes ready, and dies at the third sign-in; or it does not start.
func mortal(mode string) {
	if mode == "refuses" {
		fmt.Println("the secret is too short")
		os.Exit(1)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	signIns := make(chan struct{}, 2)
	mux.HandleFunc("POST /api/login", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case signIns <- struct{}{}:
			_, _ = fmt.Fprint(w, `{"token":"t"}`)
		default:
			fmt.Println("out of memory")
			os.Exit(7)
		}
	})
	_ = http.ListenAndServe(os.Getenv("BOXOFFICE_ADDR"), mux)
}

func demo(t *testing.T, ctx context.Context, o *officetest.Office, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"--url", o.URL, "--admin-token", officetest.Admin, "--gateway", o.GatewayURL, "--think", "5ms"}, args...)
	code = Main(ctx, args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestDemoHolds(t *testing.T) {
	code, out, errs := demo(t, t.Context(), officetest.Start(t, officetest.Config{}), "--fans", "30")
	if code != 0 || errs != "" {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
	for _, want := range []string{"fans: 30", "sign in", "p99", "hold timeout", "gateway's ledger, one by one", "OK: all 21 checks hold"} {
		assert.Contains(t, out, want, "the report lacks")
	}
	if strings.Contains(out, "\x1b") || strings.Contains(out, "BROKEN") {
		t.Errorf("the report has control characters or BROKEN:\n%q", out)
	}
}

func TestDemoFindsABrokenInvariant(t *testing.T) {
	code, out, _ := demo(t, t.Context(), officetest.Start(t, officetest.Config{Fault: officetest.BrokenInvariant}), "--fans", "10")
	if code != 1 || !strings.Contains(out, "BROKEN  no event lost") || !strings.Contains(out, "3 events are missing") ||
		!strings.Contains(out, "BROKEN: 1 of 21 checks do not hold") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestDemoFindsALie(t *testing.T) {
	// The box office claims that all is well; only its fans know better.
	code, out, _ := demo(t, t.Context(), officetest.Start(t, officetest.Config{Fault: officetest.LoseTicket}), "--fans", "20")
	if code != 1 || !strings.Contains(out, "BROKEN  reservations are as told") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestDemoStopsOnInterrupt(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	start := time.Now()
	o := officetest.Start(t, officetest.Config{Drop: func(r *http.Request) bool {
		if r.URL.Path == "/api/shows" { // its sign-in was measured
			stop()
		}
		return false
	}})
	code, out, _ := demo(t, ctx, o, "--fans", "100000", "--concurrency", "5")
	if code != 130 || !strings.Contains(out, "Interrupted") || !strings.Contains(out, "sign in") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}

// started is the configuration of a demo that starts its box office.
func started(t *testing.T, fans int, program string, prefix ...string) (cfg config, out *screen.Screen, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return config{
		fans: fans, concurrency: 40, hold: 2 * time.Second, think: 20 * time.Millisecond, patience: time.Minute, drain: time.Minute,
		program: program, prefix: prefix, temp: t.TempDir(),
	}, screen.New(stdout, true), stdout, stderr
}

func TestDemoNoticesACrash(t *testing.T) {
	cfg, out, stdout, stderr := started(t, 20, os.Args[0], "child", "dies")
	code := run(t.Context(), cfg, out, stderr)
	if code != 1 || !strings.Contains(stderr.String(), "exit status 7") || !strings.Contains(stderr.String(), "out of memory") {
		t.Errorf("exit %d %s\n%s", code, stderr, stdout)
	}
	logs, err := filepath.Glob(filepath.Join(cfg.temp, "boxoffice-demo-*", "demo.log"))
	if err != nil || len(logs) != 1 || !strings.Contains(stdout.String(), filepath.Dir(logs[0])) {
		t.Errorf("the log was not kept: %v\n%s", logs, stdout)
	}
}

// One of several processes may end after the crowd, and the others continue.
func TestDemoNoticesACrashAfterTheCrowd(t *testing.T) {
	o := officetest.Start(t, officetest.Config{})
	dead, err := launch.Start(launch.Spec{Name: "relay 1", Path: os.Args[0], Args: []string{"child", "refuses", "serve"}, Env: os.Environ()})
	require.NoError(t, err)
	<-dead.Done()
	cfg, out, _, _ := started(t, 5, "")
	p := &place{url: o.URL, admin: officetest.Admin, gateway: o.GatewayURL, processes: []running{{"the relay 1", dead}}}
	if code, err := visit(t.Context(), cfg, p, out); code != 1 || !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "the relay 1") {
		t.Errorf("exit %d, %v", code, err)
	}
}

func TestDemoReportsAFailedStart(t *testing.T) {
	cfg, out, stdout, stderr := started(t, 20, os.Args[0], "child", "refuses")
	code := run(t.Context(), cfg, out, stderr)
	if code != 1 || !strings.Contains(stderr.String(), "the secret is too short") {
		t.Errorf("exit %d %s\n%s", code, stderr, stdout)
	}
	if left, _ := filepath.Glob(filepath.Join(cfg.temp, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestRealBoxOffice starts the real program, as make demo does.
func TestRealBoxOffice(t *testing.T) {
	servicetest.Embedded(t)
	program, err := launch.Build(t.Context(), t.TempDir(), launch.Boxoffice)
	require.NoError(t, err)
	t.Run("holds", func(t *testing.T) {
		t.Parallel()
		cfg, out, stdout, stderr := started(t, 40, program)
		code := run(t.Context(), cfg, out, stderr)
		if code != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), "OK: all 37 checks hold") || !strings.Contains(stdout.String(), "deliver notification") || !strings.Contains(stdout.String(), "stood in line before") {
			t.Errorf("exit %d %s\n%s", code, stderr, stdout)
		}
		if left, _ := filepath.Glob(filepath.Join(cfg.temp, "*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("is found out when its database is corrupted", func(t *testing.T) {
		t.Parallel()
		cfg, out, stdout, stderr := started(t, 40, program)
		corrupted := make(chan error, 1)
		go func() { corrupted <- unsell(t.Context(), cfg.temp) }()
		code := run(t.Context(), cfg, out, stderr)
		require.NoError(t, <-corrupted)
		// The seats are free, or another member's by now.
		fromOutside := strings.Contains(stdout.String(), "BROKEN  the seat plan is the fans' tickets") ||
			strings.Contains(stdout.String(), "BROKEN  no seat promised to two fans")
		if code != 1 || !strings.Contains(stdout.String(), "BROKEN  sold-seats") || !fromOutside {
			t.Errorf("exit %d %s\n%s", code, stderr, stdout)
		}
	})
}

// unsell waits until seats of five reservations were sold (some fans will give theirs
// back) and makes them available again, without the box office.
func unsell(ctx context.Context, temp string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if err := crowd.Sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("no seat was sold: %w", err)
		}
		files, _ := filepath.Glob(filepath.Join(temp, "boxoffice-demo-*", "boxoffice.db"))
		if len(files) == 0 {
			continue
		}
		db, err := sqlitedb.Open(files[0], sqlitedb.Config{})
		if err != nil {
			return err
		}
		res, err := db.ExecContext(ctx, `UPDATE seats SET status = 'AVAILABLE', reservation_id = NULL
			WHERE status = 'SOLD' AND (SELECT COUNT(DISTINCT reservation_id) FROM seats WHERE status = 'SOLD') >= 5`)
		changed := int64(0)
		if err == nil {
			changed, err = res.RowsAffected()
		}
		_ = db.Close()
		if err != nil && !strings.Contains(err.Error(), "no such table") { // not migrated yet
			return err
		}
		if changed > 0 {
			return nil
		}
	}
}

func TestDemoUsage(t *testing.T) {
	t.Setenv("BOXOFFICE_ADMIN_TOKEN", "")
	for says, args := range map[string][]string{
		"--fans 0":      {"--fans", "0"},
		"--concurrency": {"--concurrency", "0"},
		"whole seconds": {"--hold", "1500ms"},
		"now":           {"now"},
		"admin-token":   {"--url", "http://127.0.0.1:1"},
		"goes with":     {"--gateway", "http://127.0.0.1:1"},
		"-sead":         {"-sead", "1"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(t.Context(), args, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), says) {
			t.Errorf("%v: exit %d %q", args, code, stderr.String())
		}
	}
	t.Setenv("FANS", "many")
	var stdout, stderr bytes.Buffer
	if code := Main(t.Context(), nil, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "FANS") {
		t.Errorf("FANS=many: exit %d %q", code, stderr.String())
	}
	for want, c := range map[int]config{
		15: {fans: 200, concurrency: 256}, 19: {fans: 100_000, concurrency: 256}, 1: {fans: 3, concurrency: 256}, 7: {fans: 200, concurrency: 256, threshold: 7},
	} {
		if got := c.places(); got != want {
			t.Errorf("%+v: %d places, want %d", c, got, want)
		}
	}
	if a, b := crowdName(config{url: "http://127.0.0.1:1"}), crowdName(config{url: "http://127.0.0.1:1"}); a == b {
		t.Errorf("two crowds of one office are both %q", a)
	}
	t.Setenv("FANS", "77")
	if cfg, err := parse(nil, &stderr); err != nil || cfg.fans != 77 {
		t.Errorf("FANS=77: %+v %v", cfg, err)
	}
}
