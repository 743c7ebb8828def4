package sse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/programtest"
)

// chromium is a browser with the door's page. Orders tell the page which streams to
// follow and to read, and the page reports their events. It uses a server apart from
// the door's, so that no test cuts it off there.
type chromium struct {
	t      *testing.T
	orders chan []byte
	read   chan [][]told
}

// order is the page's next task: follow the first URL, or read all to their ends.
type order struct {
	Tell  string   `json:"tell"` // where it reports to
	Read  bool     `json:"read"`
	URLs  []string `json:"urls"`
	Names []string `json:"names"`
}

// openChromium opens the page in a process and a profile of its own, which end with the
// test.
func openChromium(t *testing.T, base string, watchers *http.ServeMux) *chromium {
	t.Helper()
	program := programtest.Chromium(t)
	c := &chromium{t: t, orders: make(chan []byte), read: make(chan [][]told, 1)}
	ctx, end := context.WithCancel(context.Background())
	watchers.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		select {
		case o := <-c.orders:
			_, _ = w.Write(o) // a page that is gone has no more to say
		case <-r.Context().Done():
		case <-ctx.Done():
		}
	})
	watchers.HandleFunc("POST /read", func(_ http.ResponseWriter, r *http.Request) {
		var all [][]told
		if json.NewDecoder(r.Body).Decode(&all) == nil { // else it ended meanwhile
			c.read <- all
		}
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", base)
		watchers.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)

	// The browser ends with the pipes that drive it; nothing is sent on them.
	drive, driver, err := os.Pipe()
	must(t, err)
	answers, answer, err := os.Pipe()
	must(t, err)
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir(), base+"/#"+url.QueryEscape(server.URL))
	cmd.ExtraFiles = []*os.File{drive, answer}
	var said bytes.Buffer
	cmd.Stderr = &said // and so Wait waits for all its processes
	cmd.Cancel = func() error { return errors.Join(driver.Close(), answers.Close()) }
	cmd.WaitDelay = patience // then it is killed
	must(t, cmd.Start())
	must(t, errors.Join(drive.Close(), answer.Close()))
	t.Cleanup(func() {
		end()
		_ = cmd.Wait() // how it ends does not matter
		if t.Failed() {
			t.Logf("chromium says: %.2000s", said.String())
		}
	})
	return c
}

// do waits until the page has taken an order.
func (c *chromium) do(o order) {
	c.t.Helper()
	select {
	case c.orders <- []byte(inJSON(o)):
	case <-time.After(patience):
		c.t.Fatal("the page asks for no orders")
	}
}

func startChromium(t *testing.T, base string) func(string, ...string) *watcher {
	t.Helper()
	var watchers http.ServeMux
	c, n := openChromium(t, base, &watchers), 0
	return func(path string, names ...string) *watcher {
		t.Helper()
		w := &watcher{t: t}
		tell := fmt.Sprint("/told/", n)
		n++
		watchers.HandleFunc("POST "+tell, func(_ http.ResponseWriter, r *http.Request) {
			var one report
			if json.NewDecoder(r.Body).Decode(&one) == nil { // else it ended meanwhile
				w.add(one)
			}
		})
		c.do(order{Tell: tell, URLs: []string{path}, Names: names})
		return w
	}
}

func readByChromium(t *testing.T, base string, paths, names []string) [][]told {
	t.Helper()
	c := openChromium(t, base, new(http.ServeMux))
	c.do(order{Tell: "/read", Read: true, URLs: paths, Names: names})
	select {
	case all := <-c.read:
		return all
	case <-time.After(patience):
		t.Fatal("the page does not come to an end")
		return nil
	}
}
