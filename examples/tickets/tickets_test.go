package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite" // the driver "sqlite", for a look at the file

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// binary is the program, built once.
var binary string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "tickets")
	if err != nil {
		log.Fatal(err)
	}
	binary = filepath.Join(folder, "tickets")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		log.Fatalf("%v\n%s", err, out)
	}
	code := m.Run()
	os.RemoveAll(folder)
	chromium.Close()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// program runs in a folder of its own.
type program struct {
	t       *testing.T
	folder  string
	url     string // of its database; empty for the file
	cmd     *exec.Cmd
	said    bytes.Buffer
	address string
	ended   chan error
}

// start starts the program and waits until it listens.
func (p *program) start() {
	p.t.Helper()
	p.cmd = exec.Command(binary, "-addr", "127.0.0.1:0", "-inside", "100")
	p.cmd.Dir, p.cmd.Stderr = p.folder, &p.said
	p.cmd.Env = append(os.Environ(), "MILLRACE_DB_URL="+p.url, "MILLRACE_BUS_URL=")
	out, err := p.cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, p.cmd.Start())
	p.t.Cleanup(func() { p.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(p.t, err, "%s", &p.said)
	p.address = strings.TrimSpace(strings.TrimPrefix(line, "tickets: "))
	p.ended = make(chan error, 1)
	go func() { p.ended <- p.cmd.Wait() }()
}

func start(t *testing.T, url string) *program {
	p := &program{t: t, folder: t.TempDir(), url: url}
	p.start()
	return p
}

// end asks the program to end, and waits for it.
func (p *program) end() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(p.t, <-p.ended, &p.said)
}

// buyer is a browser that was let in.
type buyer struct {
	*http.Client
	address string
}

func (p *program) buyer() (*buyer, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	b := &buyer{&http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}, p.address}
	if _, err := b.call(http.MethodGet, "/", ""); err != nil {
		return nil, err
	}
	_, err = b.call(http.MethodPost, "/api/queue/check/"+showID, "")
	return b, err
}

// call returns the status; no answer is an error.
func (b *buyer) call(method, path, body string) (status int, err error) {
	r, err := http.NewRequest(method, b.address+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	answer, err := b.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// buy tries seats until one is paid, or none is free.
func (b *buyer) buy(seats []string, card string) error {
	for _, seat := range seats {
		status, err := b.call(http.MethodPost, "/api/take/"+showID, fmt.Sprintf(`{"seat": %q}`, seat))
		switch {
		case err != nil:
			return err
		case status == http.StatusConflict:
			continue
		case status != http.StatusAccepted:
			return fmt.Errorf("take answers %d", status)
		}
		status, err = b.call(http.MethodPost, "/api/pay/"+showID, fmt.Sprintf(`{"seat": %q, "card": %q}`, seat, card))
		if err == nil && status != http.StatusAccepted {
			err = fmt.Errorf("pay answers %d", status)
		}
		return err
	}
	return nil
}

func seatIDs() (all []string) {
	for row := range rows {
		for column := range columns {
			all = append(all, fmt.Sprintf("%c%d", 'A'+row, column+1))
		}
	}
	return all
}

// Fifty buyers want twenty seats, and the process is killed while they pay. After a restart it
// sells the remaining seats: no seat is sold twice, no card charged twice, no ticket lost.
func TestKilledWhileSelling(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		p := start(t, "")
		db, err := sql.Open("sqlite", "file:"+filepath.Join(p.folder, "tickets.db")+"?_pragma=busy_timeout(10000)")
		require.NoError(t, err)
		testKilled(t, p, db)
	})
	t.Run("postgres", func(t *testing.T) {
		p := start(t, servicetest.PostgresURL(t))
		db, err := pgdb.Open(p.url)
		require.NoError(t, err)
		testKilled(t, p, db)
	})
}

func testKilled(t *testing.T, p *program, db *sql.DB) {
	defer db.Close()
	seats := seatIDs()
	var crowd sync.WaitGroup
	paid := make(chan bool, 50)
	for i := range 50 {
		crowd.Go(func() {
			if b, err := p.buyer(); err == nil && b.buy(slices.Concat(seats[i%len(seats):], seats[:i%len(seats)]), "good") == nil {
				paid <- true
			}
		})
	}
	for range 5 { // some have paid, others are about to
		select {
		case <-paid:
		case <-time.After(time.Minute):
			t.Fatalf("nobody pays\n%s", &p.said)
		}
	}
	require.NoError(t, p.cmd.Process.Kill())
	<-p.ended
	crowd.Wait()

	p.start()
	// Seats that requests held when the process was killed become free when their hold ends: here at once.
	_, err := db.Exec(`UPDATE seats SET until = 1 WHERE state = 'held'`)
	require.NoError(t, err)
	for _, seat := range seats {
		b, err := p.buyer()
		require.NoError(t, err)
		require.NoError(t, b.buy([]string{seat}, "good"))
	}
	require.Eventually(t, func() bool {
		var sold, tickets int
		err := db.QueryRow(`SELECT (SELECT COUNT(*) FROM seats WHERE state = 'sold'), (SELECT COUNT(*) FROM tickets)`).Scan(&sold, &tickets)
		return err == nil && sold == len(seats) && tickets == len(seats)
	}, 5*time.Minute, 50*time.Millisecond, &p.said) // leases of the killed process end after 30 s
	p.end()

	var orders, paidOrders, mixed int
	require.NoError(t, db.QueryRow(`SELECT COUNT(*), COUNT(*) FILTER (WHERE state = 'paid') FROM orders`).Scan(&orders, &paidOrders))
	require.NoError(t, db.QueryRow(`SELECT COUNT(*) FROM tickets t JOIN seats s ON s.id = t.seat WHERE s.buyer <> t.buyer`).Scan(&mixed))
	require.Equal(t, []int{len(seats), len(seats), 0}, []int{orders, paidOrders, mixed}, "orders, those paid, tickets of another buyer")
	charges, err := os.ReadFile(filepath.Join(p.folder, "tickets.charges"))
	require.NoError(t, err)
	require.Equal(t, len(seats), bytes.Count(charges, []byte("\n")), "charges")
}

// One buyer's way, mistakes included.
func TestOneBuyer(t *testing.T) {
	p := start(t, "")
	stranger := &buyer{&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, p.address}
	status, err := stranger.call(http.MethodPost, "/api/take/"+showID, `{"seat": "A1"}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status, "without the page's cookie")
	b, err := p.buyer()
	require.NoError(t, err)
	other, err := p.buyer()
	require.NoError(t, err)
	for _, c := range []struct {
		by         *buyer
		path, body string
		want       int
	}{
		{b, "take", `{`, http.StatusBadRequest},
		{b, "take", `{"seat": "Z9"}`, http.StatusConflict},
		{b, "pay", `{"seat": "A1", "card": "good"}`, http.StatusConflict}, // it does not hold it
		{b, "take", `{"seat": "A1"}`, http.StatusAccepted},
		{other, "take", `{"seat": "A1"}`, http.StatusConflict},
		{other, "pay", `{"seat": "A1", "card": "good"}`, http.StatusConflict},
		{b, "free", `{"seat": "A1"}`, http.StatusAccepted},
		{other, "take", `{"seat": "A1"}`, http.StatusAccepted},
		{other, "pay", `{"seat": "A1", "card": "declined"}`, http.StatusAccepted},
	} {
		status, err := c.by.call(http.MethodPost, "/api/"+c.path+"/"+showID, c.body)
		require.NoError(t, err)
		require.Equal(t, c.want, status, "%s %s", c.path, c.body)
	}
	state := func(seat string) string {
		answer, err := b.Get(p.address + "/api/seats/" + showID)
		require.NoError(t, err)
		defer answer.Body.Close()
		var all []Seat
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&all))
		for _, s := range all {
			if s.ID == seat {
				return s.State
			}
		}
		return ""
	}
	require.Eventually(t, func() bool { return state("A1") == "free" }, time.Minute, 20*time.Millisecond, "the card was declined")
	require.NoError(t, b.buy([]string{"A1"}, "good"))
	require.Eventually(t, func() bool { return state("A1") == "sold" }, time.Minute, 20*time.Millisecond)
	p.end()
}

// The page receives each change at once.
func TestLive(t *testing.T) {
	p := start(t, "")
	b, err := p.buyer()
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+"/api/live/"+showID, nil)
	require.NoError(t, err)
	answer, err := b.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, "text/event-stream", strings.Split(answer.Header.Get("Content-Type"), ";")[0])
	require.NoError(t, b.buy([]string{"B2"}, "good"))
	lines, want := bufio.NewScanner(answer.Body), []string{"held", "paying", "sold"}
	for len(want) > 0 && lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") && strings.Contains(lines.Text(), `"id":"B2","state":"`+want[0]) {
			want = want[1:]
		}
	}
	require.Empty(t, want, "the stream ended: %v", lines.Err())
	p.end() // it does not wait for open streams
}
