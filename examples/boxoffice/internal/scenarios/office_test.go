package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// office is a box office of processes, with its gateway and, where it mirrors
// artists, the simulated upstream: both live on, as others' programs would, and
// are witnesses.
type office struct {
	t      testing.TB
	dir    string
	launch *launch.Office
	http   *http.Client
	order  []string // of the processes, as they were started
	each   map[string]*member
	up     string // the upstream's URL, "" without one

	db, bus, redis, prefix string // of an office on servers
}

// member is one process of the office.
type member struct {
	roles, addr string
	env         map[string]string
	process     *launch.Process // nil while it does not run
}

func (m *member) url() string { return "http://" + m.addr }

// officePlan describes the office to open.
type officePlan struct {
	processes [][2]string                   // name, roles; the embedded defaults when nil
	redis     func(testing.TB) string       // another Redis than the shared Cluster
	env       map[string]string             // of all
	own       map[string]map[string]string  // of one, by name
	upstream  []string                      // flags of the upstream; nil for none
	hold      time.Duration                 // of seats; 8 s when zero
	wrapDB    func(name, url string) string // another way to the database for one process
	before    func(o *office)               // once the database's URL is known
}

// apart are the processes of an office on servers: two of each role that several
// may have.
func apart() [][2]string {
	return [][2]string{
		{"api 1", "api"}, {"api 2", "api"}, {"relay 1", "relay"}, {"relay 2", "relay"},
		{"worker 1", "worker"}, {"worker 2", "worker"}, {"admitter", "admitter"},
	}
}

// openOffice starts an office and waits until all of it is ready.
func openOffice(t testing.TB, p officePlan) *office {
	t.Helper()
	o := &office{
		t: t, dir: t.TempDir(), each: map[string]*member{},
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: 60 * time.Second},
	}
	env := map[string]string{"QUEUE_ADMISSION_INTERVAL_MS": "100"}
	switch {
	case p.processes == nil:
		p.processes = [][2]string{{"office", "all"}}
	case len(p.processes) > 0:
		o.db, o.bus = servicetest.PostgresURL(t), emptyKafka(t)
		if p.redis == nil {
			p.redis = func(t testing.TB) string { return "redis://" + servicetest.RedisCluster(t) }
		}
		o.redis = p.redis(t)
		o.prefix = redistest.Prefix(t, openRedis(t, o.redis))
		workers := 0
		for _, each := range p.processes {
			if strings.Contains(each[1], "worker") {
				workers++
			}
		}
		for name, value := range map[string]string{
			"BOXOFFICE_DB_URL": o.db, "BOXOFFICE_BUS_URL": o.bus, "BOXOFFICE_REDIS_URL": o.redis, "BOXOFFICE_REDIS_PREFIX": o.prefix,
			"BOXOFFICE_WORKERS": strconv.Itoa(max(1, workers)), "BOXOFFICE_SECRET": launch.NewAdminToken(),
		} {
			env[name] = value
		}
	}
	for name, value := range p.env {
		env[name] = value
	}
	logs, err := os.Create(filepath.Join(o.dir, "office.log"))
	require.NoError(t, err)
	// Short, as some fans wait for it to end.
	o.launch = &launch.Office{Program: program.boxoffice(t), Dir: o.dir, Env: env, Hold: cmp.Or(p.hold, 8*time.Second), Admin: launch.NewAdminToken(), Log: logs}
	t.Cleanup(func() { o.close(logs) })
	gateway, err := o.launch.StartGateway(t.Context())
	require.NoError(t, err)
	o.each["gateway"] = &member{process: gateway}
	if p.upstream != nil {
		o.startUpstream(p.upstream)
		env["BOXOFFICE_UPSTREAM_URL"] = o.up
	}
	if p.before != nil {
		p.before(o)
	}
	for _, each := range p.processes {
		o.order = append(o.order, each[0])
		m := &member{roles: each[1], env: map[string]string{}}
		for name, value := range p.own[each[0]] {
			m.env[name] = value
		}
		if p.wrapDB != nil {
			if url := p.wrapDB(each[0], o.db); url != "" {
				m.env["BOXOFFICE_DB_URL"] = url
			}
		}
		o.each[each[0]] = m
	}
	if len(o.order) == 0 {
		return o // the test runs all of it
	}
	o.open(o.order[0]) // it makes the tables
	var others sync.WaitGroup
	for _, name := range o.order[1:] {
		others.Go(func() { o.open(name) })
	}
	others.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return o
}

// readyWithin is far longer than a start takes.
const readyWithin = time.Minute

// open starts a process for the first time, and chooses its port. On a busy machine
// another program may take the port first; then it tries others.
func (o *office) open(name string) {
	o.t.Helper()
	m := o.each[name]
	for tries := 1; ; tries++ {
		var err error
		if m.addr, err = launch.FreeAddr(); err == nil {
			m.process, err = o.launch.StartServe(context.WithoutCancel(o.t.Context()), name, m.roles, m.addr, readyWithin, m.env)
		}
		if err == nil {
			return
		}
		if tries == 5 || !strings.Contains(err.Error(), "the port is in use") {
			o.t.Errorf("start %s: %v", name, err)
			return
		}
	}
}

// start starts a process that does not run, where it was, and waits until it is ready.
func (o *office) start(name string) {
	o.t.Helper()
	m := o.each[name]
	p, err := o.launch.StartServe(context.WithoutCancel(o.t.Context()), name, m.roles, m.addr, readyWithin, m.env)
	if err != nil {
		o.t.Errorf("start %s: %v", name, err)
		return
	}
	m.process = p
}

// begin starts a process and does not wait for it.
func (o *office) begin(name string) {
	o.t.Helper()
	m := o.each[name]
	p, err := o.launch.Serve(name, m.roles, m.addr, m.env)
	if err != nil {
		o.t.Fatal(err)
	}
	m.process = p
}

// ready waits for a started process.
func (o *office) ready(name string) {
	o.t.Helper()
	m := o.each[name]
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.t.Context()), readyWithin)
	defer cancel()
	check(o.t, "start "+name, m.process.Ready(ctx, m.url()+"/readyz"))
}

// kill ends a process as kill -9 does.
func (o *office) kill(name string) {
	o.t.Helper()
	m := o.each[name]
	if m.process == nil {
		return
	}
	if !m.process.Kill() {
		o.t.Errorf("%s had ended by itself (%s):\n%s", name, m.process.End(), m.process.Tail())
	}
	m.process = nil
}

// stop asks a process to end and waits.
func (o *office) stop(names ...string) {
	o.t.Helper()
	var all sync.WaitGroup
	for _, name := range names {
		m := o.each[name]
		if m.process == nil {
			continue
		}
		all.Go(func() { check(o.t, "stop "+name, m.process.Stop(40*time.Second)) })
	}
	all.Wait()
	for _, name := range names {
		o.each[name].process = nil
	}
}

// called are the names of the processes that have a role.
func (o *office) called(role string) (names []string) {
	for _, name := range o.order {
		if r := o.each[name].roles; r == "all" || slices.Contains(strings.Split(r, ","), role) {
			names = append(names, name)
		}
	}
	return names
}

// apis are the URLs of the API.
func (o *office) apis() (urls []string) {
	for _, name := range o.called("api") {
		urls = append(urls, o.each[name].url())
	}
	return urls
}

// close ends everything: the office first, which needs the others.
func (o *office) close(logs io.Closer) {
	o.http.CloseIdleConnections()
	o.stop(o.order...)
	for _, name := range []string{"gateway", "upstream"} {
		if m := o.each[name]; m != nil {
			check(o.t, "stop the "+name, m.process.Stop(20*time.Second))
		}
	}
	check(o.t, "close the log", logs.Close())
	if o.t.Failed() {
		if text, err := os.ReadFile(filepath.Join(o.dir, "office.log")); err == nil {
			o.t.Logf("the end of the office's log:\n%s", text[max(0, len(text)-8000):])
		}
	}
}

// startUpstream starts the simulated API of the artists, which counts windows.
func (o *office) startUpstream(flags []string) {
	o.t.Helper()
	p, err := launch.Start(launch.Spec{
		Name: "upstream", Path: o.launch.Program, Dir: o.dir, Env: os.Environ(), Log: o.launch.Log,
		Args: append([]string{"upstream", "--addr", "127.0.0.1:0"}, flags...),
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.each["upstream"] = &member{process: p}
	ctx, cancel := context.WithTimeout(o.t.Context(), readyWithin)
	defer cancel()
	if o.up, err = p.FirstLine(ctx); err != nil {
		o.t.Fatal(err)
	}
}

// upstreamStats asks the upstream for its figures.
func (o *office) upstreamStats() (s upstream.Stats) {
	o.t.Helper()
	if err := o.json(http.MethodGet, o.up+"/_/stats", "", nil, &s); err != nil {
		o.t.Fatal(err)
	}
	return s
}

// json makes a request, wants 2xx, and reads the answer into into.
func (o *office) json(method, url, token string, body io.Reader, into any) error {
	req, err := http.NewRequestWithContext(context.WithoutCancel(o.t.Context()), method, url, body)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := o.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode < 200 || res.StatusCode > 299:
		return fmt.Errorf("%s %s: %s: %.300s", method, url, res.Status, text)
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

// metric sums the series of a name with a label, over processes.
func (o *office) metric(series string, names ...string) (sum float64) {
	o.t.Helper()
	for _, name := range names {
		n, err := o.series(name, series)
		if err != nil {
			o.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

func (o *office) series(name, series string) (sum float64, err error) {
	res, err := o.http.Get(o.each[name].url() + "/metrics")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	found := false
	base, label, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		of, labels, _ := strings.Cut(name, "{")
		if !ok || of != base || !strings.Contains(labels, label) {
			continue
		}
		n, e := strconv.ParseFloat(value, 64)
		sum, found, err = sum+n, true, errors.Join(err, e)
	}
	if !found {
		err = fmt.Errorf("no series %s", series)
	}
	return sum, err
}
