//go:build unix

package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/examples/boxoffice/relayfault"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// binaryEnv names the path of the real box office for children.
const binaryEnv = "CHAOS_TEST_BINARY"

// TestMain is also the child: the test binary starts itself, causes the fault of its
// mode, and becomes the real box office.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		child(os.Args[2], os.Args[3:])
		return
	}
	dir, err := os.MkdirTemp("", "chaos-test-")
	if err == nil {
		var path string
		path, err = launch.Build(context.Background(), dir, launch.Boxoffice)
		_ = os.Setenv(binaryEnv, path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

func child(mode string, args []string) {
	switch {
	case mode == "crashes" && args[0] == "serve":
		crash()
	case mode == "loses" && args[0] == "serve":
		lose()
	}
	binary := os.Getenv(binaryEnv)
	err := syscall.Exec(binary, append([]string{binary}, args...), os.Environ())
	fmt.Println("the test could not start the box office:", err)
	os.Exit(1)
}

// crash gets ready and ends by itself.
func crash() {
	time.AfterFunc(200*time.Millisecond, func() {
		fmt.Println("out of memory")
		os.Exit(9)
	})
	err := http.ListenAndServe(os.Getenv("BOXOFFICE_ADDR"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	fmt.Println(err)
	os.Exit(1)
}

// lose deletes all reservations between two lives of the box office, like a disk that
// loses confirmed writes.
func lose() {
	file := filepath.Join(os.Getenv("BOXOFFICE_DATA_DIR"), "boxoffice.db")
	if _, err := os.Stat(file); err != nil {
		return // the first life
	}
	db, err := sqlitedb.Open(file, sqlitedb.Config{}) // one connection, so the pragma holds
	if err == nil {
		_, err = db.Exec(`PRAGMA foreign_keys = OFF; DELETE FROM reservation_seats; DELETE FROM reservations`)
	}
	if err != nil {
		fmt.Println("the test could not lose anything:", err)
		os.Exit(1)
	}
	_ = db.Close()
}

// play runs chaos and returns its exit code, its report, its errors, and the
// folder where it keeps data.
func play(t *testing.T, mode string, kills, relayKills int, alive time.Duration) (code int, out, errs, temp string) {
	t.Helper()
	t.Parallel() // most of the time is waiting for children
	temp = t.TempDir()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), config{
		kills: kills, relayKills: relayKills, concurrency: 12, seed: 5, minAlive: alive, maxAlive: alive,
		hold: 2 * time.Second, patience: time.Minute, drain: time.Minute,
		program: os.Args[0], prefix: []string{"child", mode}, temp: temp,
	}, screen.New(&stdout, true), &stderr)
	return code, stdout.String(), stderr.String(), temp
}

func TestChaos(t *testing.T) {
	code, out, errs, temp := play(t, "sound", 4, 0, 700*time.Millisecond)
	if code != 0 || !strings.Contains(out, "OK: all") || !strings.Contains(out, "Recovery") {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); code == 0 && len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRelayChaos(t *testing.T) {
	code, out, errs, _ := play(t, "sound", 0, 2, 0)
	if code != 0 || !strings.Contains(out, "ok      every death left a message to repeat") || !strings.Contains(out, "OK: all") {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
}

func TestChaosFindsLostData(t *testing.T) {
	code, out, errs, temp := play(t, "loses", 1, 0, 2*time.Second)
	if code != 1 || !strings.Contains(out, "BROKEN  reservations are as told") {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
	assert.Contains(t, out, "Data folder and logs: "+temp, "the data folder was not kept")
}

func TestChaosFindsACrash(t *testing.T) {
	code, out, errs, _ := play(t, "crashes", 3, 0, 5*time.Second)
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
		if code := Main(t.Context(), args, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), says) {
			t.Errorf("%v: exit %d %q", args, code, stderr.String())
		}
	}
}

func TestMomentsAreDeterministic(t *testing.T) {
	draw := func(seed uint64) ([]moment, []string) {
		cfg, err := parse([]string{"--seed", strconv.FormatUint(seed, 10)}, io.Discard)
		require.NoError(t, err)
		return cfg.moments(), cfg.faults()
	}
	first, faults := draw(3)
	again, faultsAgain := draw(3)
	other, _ := draw(4)
	same, differs, starting := true, false, 0
	for i := range first {
		same = same && first[i] == again[i]
		differs = differs || first[i] != other[i]
		if m := first[i]; m.starting {
			starting++
		} else if m.after < 20e6 || m.after > 1500e6 {
			t.Errorf("kill %d after %v, want 20 ms to 1.5 s", i, m.after)
		}
	}
	if len(first) != 100 || !same || !differs {
		t.Errorf("%d moments, same seed equal: %v, other seed differs: %v", len(first), same, differs)
	}
	if starting < 2 || starting > 30 {
		t.Errorf("%d of 100 kills hit the start, want about 10", starting)
	}
	if len(faults) != 30 || !slices.Equal(faults, faultsAgain) {
		t.Errorf("relay deaths %v and %v", faults, faultsAgain)
	}
	for _, fault := range faults {
		_, err := relayfault.Publisher(nil, fault)
		assert.NoError(t, err)
	}
}
