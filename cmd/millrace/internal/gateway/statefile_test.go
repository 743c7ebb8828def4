package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/gateway"
)

// gateProcess is the variable that makes the test program a gate.
const gateProcess = "MILLRACE_TEST_GATE_STATE"

// serveAsChild serves a gate with this file until the process is killed. It saves when a
// line comes in, and answers with the address, and with a line for each save.
func serveAsChild(file string) {
	s := gateway.Settings{
		Judge: "none", To: "http://127.0.0.1:1", Listen: "127.0.0.1:0", Event: "sale", Threshold: 1, State: file,
		Secrets: []string{strings.Repeat("n", 32)}, Logger: slog.New(slog.DiscardHandler),
	}
	server, err := gateway.Open(context.Background(), s)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	ticks := make(chan time.Time)
	server.SaveAt(ticks)
	go func() {
		fmt.Println("http://" + server.Addr())
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			ticks <- time.Now() // it saves, and
			ticks <- time.Now() // takes the next tick when it has saved
			fmt.Println("saved")
		}
	}()
	_ = server.Run(context.Background())
}

func must(t *testing.T, err error) {
	t.Helper()
	require.NoError(t, err)
}

func has(t *testing.T, text, want string) {
	t.Helper()
	require.Containsf(t, text, want, "%s: want %q in it", text, want)
}

// child starts a gate of another process.
func child(t *testing.T, file string) (home string, save, kill func()) {
	t.Helper()
	lines, in, kill := spawn(t, gateProcess, file)
	home = lines.Text()
	has(t, home, "http://")
	save = func() {
		_, err := in.Write([]byte("save\n"))
		must(t, err)
		require.True(t, lines.Scan(), "the gate has ended")
	}
	return home, save, kill
}

// spawn starts this program with a variable that TestMain knows, and reads the first line.
func spawn(t *testing.T, variable, value string) (lines *bufio.Scanner, in io.Writer, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), variable+"="+value)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines = bufio.NewScanner(out)
	require.Truef(t, lines.Scan(), "the process with %s has ended", variable)
	killed := false
	kill = func() {
		if !killed {
			killed = true
			must(t, cmd.Process.Kill())
			_ = cmd.Wait() // it was killed
		}
	}
	t.Cleanup(kill)
	return lines, in, kill
}

// persistent are settings with a file.
func persistent(t *testing.T, to string) gateway.Settings {
	s := settings(to)
	s.State = filepath.Join(t.TempDir(), "room")
	return s
}

// ten visitors: the first is inside, the others wait in their order.
func ten(t *testing.T, home string) (all []*client) {
	t.Helper()
	for range 10 {
		c := visitor(t)
		c.do("GET", home+"/", "")
		c.do("POST", home+"/millrace-gate/check/sale", "")
		all = append(all, c)
	}
	stand(t, home, all)
	return all
}

func stand(t *testing.T, home string, all []*client) {
	t.Helper()
	all[0].want(200, `"active"`, "POST", home+"/millrace-gate/check/sale", "")
	for i, c := range all[1:] {
		c.want(200, fmt.Sprintf(`"position":%d,`, i+1), "POST", home+"/millrace-gate/check/sale", "")
	}
}

func TestRestartWithAFile(t *testing.T) {
	at, _, _ := site(t)
	s := persistent(t, at)
	server, stop := start(t, s)
	all := ten(t, "http://"+server.Addr())
	all[0].want(200, "the site at /", "GET", "http://"+server.Addr()+"/", "")
	_, err := gateway.Open(t.Context(), s)
	has(t, fmt.Sprint(err), "--state: another gate has "+s.State)
	stop()
	server, _ = start(t, s)
	stand(t, "http://"+server.Addr(), all)
	all[0].want(200, "the site at /", "GET", "http://"+server.Addr()+"/", "")
	info, err := os.Stat(s.State)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %s", info.Mode())
	}
}

// A killed gate loses what came after the last save: those visitors are behind the others,
// in the order of their tickets.
func TestAKilledGateLosesNoSavedPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "room")
	home, save, kill := child(t, file)
	all := ten(t, home)
	save()
	unsaved := visitor(t)
	unsaved.do("GET", home+"/", "")
	_, text := unsaved.do("POST", home+"/millrace-gate/check/sale", "")
	has(t, text, `"position":10,`)
	var place struct{ Ticket string }
	must(t, json.Unmarshal([]byte(text), &place))
	unsaved.ticket = place.Ticket
	kill()
	home, _, _ = child(t, file)
	late := visitor(t)
	late.do("GET", home+"/", "")
	late.want(200, `"position":10,`, "POST", home+"/millrace-gate/check/sale", "")
	unsaved.want(200, `"position":10,`, "POST", home+"/millrace-gate/check/sale", "")
	late.want(200, `"position":11,`, "POST", home+"/millrace-gate/check/sale", "")
	stand(t, home, all)
}

// A folder that is gone stands for a full disk: the gate serves on, says so, and saves
// when it is back.
func TestAFailedSaveIsTold(t *testing.T) {
	at, _, _ := site(t)
	s := persistent(t, at)
	folder := filepath.Join(t.TempDir(), "folder")
	must(t, os.Mkdir(folder, 0o700))
	s.State = filepath.Join(folder, "room")
	server, err := gateway.Open(t.Context(), s)
	must(t, err)
	ticks := make(chan time.Time)
	server.SaveAt(ticks)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	save := func() { ticks <- time.Now(); ticks <- time.Now() }
	all := ten(t, "http://"+server.Addr())
	op := "http://" + server.AdminAddr()
	all[0].want(200, "ready\n", "GET", op+"/readyz", "")
	must(t, os.Rename(folder, folder+".gone"))
	save()
	all[0].want(200, "ready, but a restart would lose places: --state: save the room: open "+s.State, "GET", op+"/readyz", "")
	_, metrics := all[0].do("GET", op+"/metrics", "")
	assert.NotContains(t, metrics, "millrace_gate_save_failures_total 0\n", "the failed save is not counted")
	has(t, metrics, "millrace_gate_save_failures_total ")
	stand(t, "http://"+server.Addr(), all)
	must(t, os.Rename(folder+".gone", folder))
	save()
	all[0].want(200, "ready\n", "GET", op+"/readyz", "")
	must(t, os.Rename(folder, folder+".gone"))
	cancel()
	has(t, fmt.Sprint(<-ended), "save the room")
}
