package sse_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/programtest"
)

// report is a report of a foreign client about its stream.
type report struct {
	What   string // open, error or event
	State  int    // after an error: 0 it comes back, 2 it does not
	Name   string
	Data   string
	LastID string
}

const (
	comesBack = 0
	gaveUp    = 2
)

// program is a client by other authors.
type program struct {
	name string
	// start prepares it for a server. The returned function follows a stream of it.
	start func(t *testing.T, base string) func(path string, names ...string) *watcher
	// read reads streams that end. Programs that are no EventSource have no read.
	read func(t *testing.T, base string, paths, names []string) [][]told
}

var allPrograms = []program{
	{"chromium", startChromium, readByChromium},
	{"npm", startNode, readByNode},
	{"curl", startCurl, nil},
}

// programs runs a test with each program.
func programs(t *testing.T, run func(t *testing.T, p program)) {
	t.Helper()
	for _, p := range allPrograms {
		t.Run(p.name, func(t *testing.T) { run(t, p) })
	}
}

// watcher collects the reports of one stream's client.
type watcher struct {
	t *testing.T

	mu   sync.Mutex
	seen []report
}

func (w *watcher) add(r ...report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, r...)
}

func (w *watcher) reports() []report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[:len(w.seen):len(w.seen)]
}

// until waits for reports.
func (w *watcher) until(what string, is func([]report) bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !is(w.reports()) {
		if time.Now().After(deadline) {
			seen := w.reports()
			w.t.Fatalf("%s: not after %v; of %d reports the last are %.1000s", what, patience, len(seen), fmt.Sprintf("%+v", seen[max(0, len(seen)-5):]))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *watcher) opened() {
	w.t.Helper()
	w.until("the stream opens", func(seen []report) bool { return len(seen) > 0 && seen[0].What == "open" })
}

// events are those of the stream, except pings.
func events(seen []report) (all []told) {
	for _, r := range seen {
		if r.What == "event" && r.Name != "ping" {
			all = append(all, told{r.Name, r.Data, r.LastID})
		}
	}
	return all
}

// errorsOf counts errors after which a client was in a state.
func errorsOf(seen []report, state int) (n int) {
	for _, r := range seen {
		if r.What == "error" && r.State == state {
			n++
		}
	}
	return n
}

// node starts the npm package, and returns its output. It ends with the test.
func node(t *testing.T, what string, urls, names []string) io.Reader {
	t.Helper()
	program := programtest.Find(t, "node")
	module := os.Getenv("MILLRACE_NPM_EVENTSOURCE")
	if module == "" {
		programtest.Missing(t, "set MILLRACE_NPM_EVENTSOURCE to the folder of the npm package eventsource (scripts/clients.sh installs it)")
	}
	module, err := filepath.Abs(module)
	must(t, err)
	cmd := exec.Command(program, "testdata/clients/node.mjs", module, what, inJSON(urls), inJSON(names))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		must(t, in.Close())
		assert.NoError(t, cmd.Wait(), "node")
	})
	return out
}

func startNode(t *testing.T, base string) func(string, ...string) *watcher {
	t.Helper()
	return func(path string, names ...string) *watcher {
		t.Helper()
		out, w := node(t, "follow", []string{base + ticketFor(path)}, names), &watcher{t: t}
		var reading sync.WaitGroup
		reading.Go(func() {
			for all := json.NewDecoder(out); ; {
				var r report
				if all.Decode(&r) != nil {
					return // it has ended
				}
				w.add(r)
			}
		})
		return w
	}
}

func readByNode(t *testing.T, base string, paths, names []string) (all [][]told) {
	t.Helper()
	urls := make([]string, len(paths))
	for i, path := range paths {
		urls[i] = base + path
	}
	must(t, json.NewDecoder(node(t, "read", urls, names)).Decode(&all))
	return all
}

// ticketFor adds a ticket for a client without cookies.
func ticketFor(path string) string { return strings.Replace(path, "?tab=", "?ticket=ann.", 1) }

// startCurl follows as a script would: curl again, with the last id, until the
// server says that nothing more comes.
func startCurl(t *testing.T, base string) func(string, ...string) *watcher {
	t.Helper()
	program := programtest.Find(t, "curl")
	return func(path string, _ ...string) *watcher {
		t.Helper()
		w := &watcher{t: t}
		ctx, cancel := context.WithCancel(context.Background())
		var following sync.WaitGroup
		t.Cleanup(func() { cancel(); following.Wait() })
		following.Go(func() {
			last := ""
			for state := comesBack; ctx.Err() == nil && state == comesBack; {
				state = curl(ctx, w, program, base+path, &last)
				if ctx.Err() == nil {
					w.add(report{What: "error", State: state})
				}
			}
		})
		return w
	}
}

// curl follows one stream to its end.
func curl(ctx context.Context, w *watcher, program, url string, last *string) (state int) {
	cmd := exec.CommandContext(ctx, program, "--no-buffer", "--silent", "--fail", "--retry", "20",
		"--cookie", "session=ann", "--header", "Accept: text/event-stream", "--header", "Last-Event-ID: "+*last,
		"--write-out", "%{stderr}%{http_code}", url)
	var status bytes.Buffer
	cmd.Stderr = &status
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Error(err)
		return gaveUp
	}
	in := bufio.NewReader(out)
	if _, err := in.Peek(1); err == nil {
		w.add(report{What: "open"})
	}
	p := parser{dispatch: func(e told) {
		*last = e.LastID
		w.add(report{What: "event", Name: e.Name, Data: e.Data, LastID: e.LastID})
	}}
	p.lastID, p.block = *last, *last
	if err := p.read(in); !errors.Is(err, io.EOF) && ctx.Err() == nil {
		w.t.Errorf("curl: %v", err)
	}
	_ = cmd.Wait() // with an error when the connection was cut
	if s := status.String(); s == "204" || s == "401" {
		return gaveUp
	}
	return comesBack
}

func inJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}
