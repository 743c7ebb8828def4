package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

type place struct {
	Status, EntryToken, Ticket                     string
	Position, PeopleAhead, QueueSize, CurrentUsers int
	Threshold                                      int
	NextPoll                                       float64
	Paused, SoldOut                                bool
	EstimatedWait                                  *int
}

// visitor only signs in.
func (p *process) visitor(member string) *fan {
	p.t.Helper()
	f := &fan{p: p, member: member}
	var login struct{ Token string }
	f.call(http.MethodPost, "/api/login", "", map[string]string{"memberId": member}, 200, &login)
	f.token = login.Token
	return f
}

// check polls the waiting room of show-1.
func (f *fan) check() (at place) {
	f.p.t.Helper()
	f.call(http.MethodPost, "/api/queue/check/show-1", "", nil, 200, &at)
	f.entry = at.EntryToken
	if at.Ticket != "" {
		f.inLine = at.Ticket
	}
	return at
}

// enters polls until the fan is let in.
func (f *fan) enters() {
	f.p.t.Helper()
	var at place
	boxtest.WaitFor(f.p.t, f.member+"'s turn", func() bool { at = f.check(); return at.Status == "active" }, func() string { return fmt.Sprintf("%+v", at) })
}

func (f *fan) leave() {
	f.p.t.Helper()
	f.call(http.MethodPost, "/api/queue/leave/show-1", "", nil, 204, nil)
}

// TestWaitingRoom: one place, three fans, in their order.
func TestWaitingRoom(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"embedded": nil, "without Redis": {"--redis-url", "off"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append(args, "--data-dir", t.TempDir(), "--queue-threshold", "1", "--queue-admission-interval-ms", "20")...)
			ann, bob, cat := p.visitor("ann"), p.visitor("bob"), p.visitor("cat")
			if at := ann.check(); at.Status != "active" || at.Threshold != 1 || at.EntryToken == "" {
				t.Fatalf("ann: %+v", at)
			}
			if at := bob.check(); at.Status != "queued" || at.Position != 1 || at.EntryToken != "" {
				t.Fatalf("bob: %+v", at)
			}
			if at := cat.check(); at.Status != "queued" || at.Position != 2 || at.PeopleAhead != 1 || at.QueueSize != 2 {
				t.Fatalf("cat: %+v", at)
			}
			bob.call(http.MethodPost, "/api/seats/reserve", "", map[string]any{"eventId": "show-1", "seatIds": []string{"A-1"}}, 403, nil)
			ann.hold("A-1")
			ann.leave()
			bob.enters()
			// What cat is told may be as old as a snapshot.
			boxtest.WaitFor(t, "cat to be the first, after bob", func() bool { at := cat.check(); return at.Status == "queued" && at.Position == 1 })
			ann.call(http.MethodPost, "/api/seats/reserve", "", map[string]any{"eventId": "show-1", "seatIds": []string{"A-2"}}, 403, nil)
			bob.hold("A-2")
			bob.leave()
			cat.enters()
			cat.hold("A-3")
		})
	}
}

// TestRoomInMemoryRestarts: the line is lost with the process, and forms again by the
// tickets, in any order of arrival.
func TestRoomInMemoryRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := func(settle time.Duration) *process {
		return startAs(t, Options{Gateway: quick(), Settle: settle}, "--data-dir", dir, "--queue-threshold", "1", "--queue-admission-interval-ms", "20")
	}
	p := one(0)
	ann, bob, cat := p.visitor("ann"), p.visitor("bob"), p.visitor("cat")
	for i, f := range []*fan{ann, bob, cat} {
		if at := f.check(); at.Position != i {
			t.Fatalf("%s: %+v", f.member, at)
		}
	}
	require.NoError(t, p.stop())
	p = one(time.Hour)
	bob.p, cat.p = p, p
	if at := cat.check(); at.Status != "queued" || at.Position != 1 {
		t.Errorf("cat, who is back first: %+v", at)
	}
	dan := p.visitor("dan")
	if at := dan.check(); at.Status != "queued" || at.Position != 2 {
		t.Errorf("dan, who is new: %+v", at)
	}
	if at := bob.check(); at.Status != "queued" || at.Position != 1 {
		t.Errorf("bob: %+v", at)
	}
	boxtest.WaitFor(t, "cat to be behind bob", func() bool { at := cat.check(); return at.Status == "queued" && at.Position == 2 })
	require.NoError(t, p.stop())
	p = one(time.Millisecond)
	bob.p = p
	bob.enters()
	bob.hold("A-1")
}

// TestRoomOfSplitProcesses: two processes serve, another one lets in.
func TestRoomOfSplitProcesses(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(testing.TB) string{
		"Redis":        servicetest.Redis,
		"RedisCluster": func(t testing.TB) string { return "redis://" + servicetest.RedisCluster(t) + "/" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis, db, bank := server(t), boxtest.URL(t), bank(t)
			client, err := redisdb.Open(redis, redisdb.Config{})
			require.NoError(t, err)
			t.Cleanup(func() {
				assert.NoError(t, client.Close())
			})
			prefix := redistest.Prefix(t, client)
			role := func(roles string) *process {
				return start(t, "--data-dir", t.TempDir(), "--db-url", db, "--gateway-url", bank, "--roles", roles, "--redis-url", redis, "--redis-prefix", prefix,
					"--queue-threshold", "1", "--queue-admission-interval-ms", "20",
					"--secret", "a-secret-that-the-processes-share", "--queue-entry-token-secret", "another-secret-that-they-share-too")
			}
			one, two := role("api"), role("api")
			ann, bob := one.visitor("ann"), one.visitor("bob")
			if at := ann.check(); at.Status != "active" {
				t.Fatalf("ann: %+v", at)
			}
			ann.p = two // as a load balancer does
			ann.hold("A-1")
			if at := bob.check(); at.Status != "queued" || at.Position != 1 {
				t.Fatalf("bob: %+v", at)
			}
			ann.leave()
			// There is a place, but no admitter to give it to him.
			bob.p = two
			if at := bob.check(); at.Status != "queued" || at.Position != 1 || at.CurrentUsers != 0 {
				t.Errorf("bob, without an admitter: %+v", at)
			}
			admitter := role("admitter")
			bob.enters()
			bob.hold("A-2")
			var state struct{ QueueSize, CurrentUsers int }
			(&fan{p: one, token: one.app.AdminToken()}).call(http.MethodGet, "/api/queue/admin/status/show-1", "", nil, 200, &state)
			if state.QueueSize != 0 || state.CurrentUsers != 1 {
				t.Errorf("%+v", state)
			}
			// An admitter that ends leaves the line, and another one continues.
			cat := two.visitor("cat")
			if at := cat.check(); at.Status != "queued" {
				t.Fatalf("cat: %+v", at)
			}
			require.NoError(t, admitter.stop())
			role("admitter")
			bob.leave()
			cat.enters()
		})
	}
}

// TestRoomWhileRedisDown: the site works, nobody enters, and clients are told when to
// retry.
func TestRoomWhileRedisDown(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--redis-url", "redis://:hunter2@"+closedPort(t))
	f := p.visitor("ann")
	for _, path := range []string{"check", "heartbeat", "leave"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.app.URL()+"/api/queue/"+path+"/show-1", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+f.token)
		res, err := p.http.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil || res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || strings.Contains(string(body), "hunter2") {
			t.Errorf("%s: %d %v %s %v", path, res.StatusCode, res.Header, body, err)
		}
	}
	f.call(http.MethodGet, "/api/shows", "", nil, 200, nil)
	f.call(http.MethodGet, "/api/me/tickets", "", nil, 200, nil)
	for _, page := range []string{"/readyz", "/", "/queue/show-1"} {
		boxtest.WaitFor(t, page, func() bool { status, _ := p.get(page); return status == http.StatusOK })
	}
	// The gate is not available either, and people get a page instead of JSON.
	if status, header := p.get("/events/show-1"); status != 503 || !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		t.Errorf("the seats: %d %v", status, header)
	}
}

// get looks at a page as a browser does, without going where it leads.
func (p *process) get(path string) (status int, header http.Header) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.app.URL()+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := p.http.Transport.RoundTrip(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, res.Header
}

// TestGateOfSplitProcesses: one process issues positions, another one serves them,
// and a visitor that has passed comes into the line.
func TestGateOfSplitProcesses(t *testing.T) {
	t.Parallel()
	redis, db, bank := servicetest.Redis(t), boxtest.URL(t), bank(t)
	client, err := redisdb.Open(redis, redisdb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
	})
	prefix := redistest.Prefix(t, client)
	role := func(roles string) *process {
		return start(t, "--data-dir", t.TempDir(), "--db-url", db, "--gateway-url", bank, "--roles", roles, "--redis-url", redis, "--redis-prefix", prefix,
			"--queue-entry-token-secret", "a-secret-that-the-processes-share")
	}
	p := role("api")
	admin := &fan{p: p, token: p.app.AdminToken()}
	admin.call(http.MethodPost, "/api/admin/vwr/activate/show-1", "", nil, 200, nil)
	if status, header := p.get("/events/show-1"); status != http.StatusFound || header.Get("Location") != "/vwr/show-1" {
		t.Errorf("the seats: %d to %s", status, header.Get("Location"))
	}
	var number struct {
		RequestID string
		Position  int
	}
	(&fan{p: p}).call(http.MethodPost, "/vwr/assign/show-1", "", nil, 200, &number)
	assert.Equalf(t, 1, number.Position, "%+v", number)
	var turn struct {
		Admitted bool
		Token    string
	}
	look := func() bool {
		(&fan{p: p}).call(http.MethodGet, "/vwr/check/show-1/"+number.RequestID, "", nil, 200, &turn)
		return turn.Admitted
	}
	assert.False(t, look(), "admitted although nobody serves")
	role("worker") // raises the serving counter every ten seconds
	boxtest.WaitFor(t, "the turn", look)
	ann := p.visitor("ann")
	if at := ann.check(); at.Status != "none" {
		t.Errorf("past the gate: %+v", at)
	}
	ann.pass = turn.Token
	if at := ann.check(); at.Status != "active" {
		t.Errorf("with the pass: %+v", at)
	}
	ann.hold("A-1")
}

// TestRoomMetrics: every series of the waiting room is there from the start.
func TestRoomMetrics(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"off": {"--redis-url", "off"}, "Redis is away": {"--redis-url", "redis://" + closedPort(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append(args, "--data-dir", t.TempDir(), "--queue-threshold", "77")...)
			res, err := p.http.Get(p.app.URL() + "/metrics")
			require.NoError(t, err)
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%d, %v: %s", res.StatusCode, err, text)
			}
			for _, line := range []string{
				`millrace_queue_waiting{event="show-1"} 0`, `millrace_queue_active{event="show-5"} 0`, `millrace_queue_threshold{event="show-1"} 77`, `millrace_queue_entered_total{event="show-2"} 0`,
				`millrace_queue_polls_total{source="snapshot"} 0`, `millrace_queue_notices_total{outcome="dropped"} 0`, `redis_command_duration_seconds_count`,
			} {
				assert.Containsf(t, string(text), "\n"+line, "%s is missing", line)
			}
		})
	}
}

// TestNotices: every admission, from the line and immediate, is published on another
// transport, and the operator has a row of each.
func TestNotices(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "notices.db")
	p := start(t, "--data-dir", t.TempDir(), "--queue-threshold", "1", "--queue-admission-interval-ms", "20", "--notice-url", url)
	boxtest.WaitFor(t, "the transport of the notices", func() bool { return p.app.office.admitted.transport.bus.Load() != nil })
	ann, bob := p.visitor("ann"), p.visitor("bob")
	ann.check()
	if at := bob.check(); at.Status != "queued" {
		t.Fatalf("bob: %+v", at)
	}
	ann.leave()
	bob.enters()
	boxtest.WaitFor(t, "the notices", func() bool {
		published, _ := p.app.office.waiting.notices.Counts()
		return published == 2
	})
	reader, err := bus.Open(t.Context(), url, schemes(nil, "", nil)...)
	require.NoError(t, err)
	defer reader.Close() //nolint:errcheck // it was only read
	letters, err := reader.Browse(t.Context(), noticeTopic, 10)
	if err != nil || len(letters) != 2 {
		t.Fatalf("%d notices, %v", len(letters), err)
	}
	var notice struct {
		Action, EventID, UserID, EntryToken string
		Timestamp                           int64
	}
	if err := json.Unmarshal(letters[1].Payload, &notice); err != nil || notice.Action != "admitted" || notice.EventID != "show-1" || notice.UserID != "bob" || notice.Timestamp == 0 {
		t.Errorf("%s, %v", letters[1].Payload, err)
	}
	if !strings.Contains(string(letters[0].Payload), `"userId":"ann"`) {
		t.Errorf("who entered at once is told of by %s", letters[0].Payload)
	}
	// Its token is valid, like the one of the page.
	bob.entry = notice.EntryToken
	bob.hold("A-1")
	boxtest.WaitFor(t, "the operator's rows", func() bool {
		seen := p.admitted()
		if len(seen.Admissions) < 2 {
			return false
		}
		if len(seen.Admissions) > 2 || seen.State != "on" || seen.Admissions[0].UserID != "bob" || seen.Admissions[1].UserID != "ann" {
			t.Fatalf("%+v", seen)
		}
		return true
	})
}

// admittedList is the operator's list of admissions.
type admittedList struct {
	State      string
	Admissions []struct{ EventID, UserID, AdmittedAt string }
}

func (p *process) admitted() (list admittedList) {
	p.t.Helper()
	(&fan{p: p, token: p.app.AdminToken()}).call(http.MethodGet, "/api/admin/admissions", "", nil, http.StatusOK, &list)
	return list
}

// TestNoticesOff is the default: there are no notices, and the operator sees that.
func TestNoticesOff(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	p.visitor("ann").check()
	if list := p.admitted(); list.State != "off" || list.Admissions == nil || len(list.Admissions) != 0 || p.app.office.waiting.notices != nil {
		t.Errorf("%+v", list)
	}
}

// TestNoticesAway: an outage of the transport keeps nobody out.
func TestNoticesAway(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--queue-threshold", "1", "--queue-admission-interval-ms", "20",
		"--notice-url", "amqp://guest:hunter2@"+closedPort(t)+"/")
	ann, bob := p.visitor("ann"), p.visitor("bob")
	ann.check()
	bob.check()
	ann.leave()
	bob.enters()
	boxtest.WaitFor(t, "the notices to be dropped", func() bool {
		_, dropped := p.app.office.waiting.notices.Counts()
		return dropped == 2
	})
	if list := p.admitted(); list.State != "away" {
		t.Errorf("%+v", list)
	}
}
