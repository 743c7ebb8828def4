package demo

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/officetest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/screen"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

// TestMain is also the child: the test binary starts itself as a gateway, or
// as a box office that does not live long.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		switch os.Args[2] {
		case "gateway":
			os.Exit(gateway.Main(context.Background(), os.Args[3:], os.Stdout, os.Stderr))
		case "serve":
			mortal()
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// mortal gets ready, and dies at the third sign-in.
func mortal() {
	if os.Getenv("DEMO_TEST") == "refuse" {
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
	for _, want := range []string{"fans: 30", "sign in", "p99", "hold timeout", "gateway's ledger, one by one", "OK: all 13 checks hold"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") || strings.Contains(out, "BROKEN") {
		t.Errorf("the report has control characters or BROKEN:\n%q", out)
	}
}

func TestDemoFindsABrokenInvariant(t *testing.T) {
	code, out, _ := demo(t, t.Context(), officetest.Start(t, officetest.Config{Fault: officetest.BrokenInvariant}), "--fans", "10")
	if code != 1 || !strings.Contains(out, "BROKEN  no event lost") || !strings.Contains(out, "3 events are missing") ||
		!strings.Contains(out, "BROKEN: 1 of 13 checks do not hold") {
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
	interrupt := time.AfterFunc(1500*time.Millisecond, stop)
	defer interrupt.Stop()
	defer stop()
	start := time.Now()
	code, out, _ := demo(t, ctx, officetest.Start(t, officetest.Config{}), "--fans", "100000", "--concurrency", "5")
	if code != 130 || !strings.Contains(out, "Interrupted") || !strings.Contains(out, "sign in") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}

func started(t *testing.T, fans int) (config, *bytes.Buffer) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	return config{
		fans: fans, concurrency: 10, hold: time.Second, think: time.Millisecond, patience: 5 * time.Second, drain: time.Second,
		program: os.Args[0], prefix: []string{"child"},
	}, &bytes.Buffer{}
}

func TestDemoNoticesACrash(t *testing.T) {
	cfg, stderr := started(t, 20)
	var out bytes.Buffer
	code := run(t.Context(), cfg, screen.New(&out, true), stderr)
	if code != 1 || !strings.Contains(stderr.String(), "exit status 7") || !strings.Contains(stderr.String(), "out of memory") {
		t.Errorf("exit %d %s\n%s", code, stderr, &out)
	}
	logs, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "boxoffice-demo-*", "demo.log"))
	if err != nil || len(logs) != 1 || !strings.Contains(out.String(), filepath.Dir(logs[0])) {
		t.Errorf("the log was not kept: %v\n%s", logs, &out)
	}
}

func TestDemoReportsAFailedStart(t *testing.T) {
	cfg, stderr := started(t, 20)
	t.Setenv("DEMO_TEST", "refuse")
	var out bytes.Buffer
	code := run(t.Context(), cfg, screen.New(&out, true), stderr)
	if code != 1 || !strings.Contains(stderr.String(), "the secret is too short") {
		t.Errorf("exit %d %s\n%s", code, stderr, &out)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "boxoffice-demo-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
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
	t.Setenv("FANS", "77")
	if cfg, err := parse(nil, &stderr); err != nil || cfg.fans != 77 {
		t.Errorf("FANS=77: %+v %v", cfg, err)
	}
}
