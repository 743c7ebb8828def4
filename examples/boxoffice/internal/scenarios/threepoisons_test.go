package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// The process that is killed by a message it consumes.
const childVictim = "SCENARIOS_CHILD_VICTIM"

// victim is the configuration of this process.
type victim struct {
	URL, Topic, Ledger string
	Refuse             int // letters of more bytes; 0 where the transport refuses by itself
}

// poisonPlace is a transport on a server.
type poisonPlace struct {
	name   string
	column column
	url    func(t *testing.T, topic string) string
	// bounded is the part that the transport bounds, the payload or the metadata; "" for
	// neither.
	bounded string
	// survives: the transport counts the starts of a partition without progress where the
	// count survives a crash. Elsewhere a deadly message kills every process that gets it.
	survives bool
}

var poisonPlaces = []poisonPlace{
	{"sqlite", embedded, func(t *testing.T, _ string) string {
		servicetest.Embedded(t)
		return "sqlite://" + freshFile(t)
	}, "", true},
	{"postgres", servers, func(t *testing.T, _ string) string { return servicetest.PostgresURL(t) }, "", true},
	{"mariadb", servers, func(t *testing.T, _ string) string { return servicetest.MariaDBURL(t) }, "", true},
	{"mysql", servers, func(t *testing.T, _ string) string { return servicetest.MySQLURL(t) }, "", true},
	{"redis", servers, func(t *testing.T, _ string) string { return transporttest.Redis(t) }, "", true},
	{"cluster", servers, func(t *testing.T, _ string) string { return transporttest.RedisCluster(t) }, "", true},
	{"rabbitmq", servers, func(t *testing.T, topic string) string {
		queues := []string{scratch(topic), topic + ".DLT", topic + ".DLT:reader:members", topic + ":" + topic + "-group:members"}
		for n := range 6 {
			queues = append(queues, fmt.Sprint(topic, ":", topic, "-group:", n), fmt.Sprint(topic, ".DLT:reader:", n))
		}
		return transporttest.RabbitMQ(t, queues...)
	}, "metadata", false},
	{"kafka", servers, func(t *testing.T, topic string) string { return transporttest.Kafka(t, topic) }, "payload", true},
	{"nats", servers, func(t *testing.T, _ string) string { return natstest.URL(t) }, "", true},
	{"sqs", servers, func(t *testing.T, _ string) string { return transporttest.SQS(t) }, "payload", false},
}

// scratch is a topic beside another one.
func scratch(topic string) string { return topic + "-scratch" }

// openPlace opens a transport for a process that restarts under its name.
func openPlace(ctx context.Context, url, holder string) (*bus.Bus, error) {
	const ttl = 2 * time.Second
	return bus.Open(ctx, url, allbus.Schemes(allbus.Config{
		SQLite:   sqlitebus.Config{Holder: holder, LeaseTTL: ttl, Logger: quiet},
		Postgres: pgbus.Config{Holder: holder, LeaseTTL: ttl, Logger: quiet},
		MySQL:    mysqlbus.Config{Holder: holder, LeaseTTL: ttl, Logger: quiet},
		Redis:    redisbus.Config{LeaseTTL: ttl, Logger: quiet},
		Kafka:    kafkabus.Config{Instance: holder, Logger: quiet},
		NATS:     natsbus.Config{Holder: holder, LeaseTTL: ttl, Logger: quiet},
		SQS:      sqsbus.Config{Logger: quiet},
	})...)
}

// beVictim is the process.
func beVictim(text string) error {
	var told victim
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b, err := openPlace(ctx, told.URL, "pod-1")
	if err != nil {
		return err
	}
	if told.Refuse > 0 {
		b = bus.New(b.Name(), refusing{b.Driver(), told.Refuse})
	}
	r, err := consumes(b, told.Topic, ledger(told.Ledger).note)
	if err == nil {
		err = r.Run(ctx)
	}
	return errors.Join(err, b.Close())
}

// refusing is a transport that refuses large dead letters.
type refusing struct {
	driver.Driver
	most int
}

func (r refusing) Publisher() message.Publisher {
	return refusingPublisher{r.Driver.Publisher(), r.most}
}

type refusingPublisher struct {
	message.Publisher
	most int
}

func (p refusingPublisher) Publish(topic string, all ...*message.Message) error {
	for _, m := range all {
		size := len(m.Payload)
		for k, v := range m.Metadata {
			size += len(k) + len(v)
		}
		if size > p.most && driver.IsLetter(m) {
			return fault.MarkPermanent(fmt.Errorf("the letter has %d bytes; at most %d can be", size, p.most))
		}
	}
	return p.Publisher.Publish(topic, all...)
}

// ledger is a journal in a file, for processes that are killed.
type ledger string

func (l ledger) note(_ context.Context, s step) error {
	f, err := os.OpenFile(string(l), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, s.Key, s.N, time.Now().UnixNano())
	return errors.Join(err, f.Close())
}

func (l ledger) read(t testing.TB) (all []entry) {
	t.Helper()
	text, err := os.ReadFile(string(l))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e entry
		var at int64
		_, err := fmt.Sscan(line, &e.Key, &e.N, &at)
		require.NoError(t, err, "the ledger has %q", line)
		e.at = time.Unix(0, at)
		all = append(all, e)
	}
	return all
}

// firsts are the first handlings of messages, some of which were repeated after a death.
func firsts(all []entry) (first []entry) {
	seen := map[step]bool{}
	for _, e := range all {
		if !seen[e.step] {
			seen[e.step], first = true, append(first, e)
		}
	}
	return first
}

// Of three messages one is slower than its timeout, one fails so that its dead letter is
// refused, and one kills its process. The healthy ones are handled, and the three become
// dead letters with their reasons.
func TestScenario28ThreePoisons(t *testing.T) {
	for _, p := range poisonPlaces {
		if c := proved(t); c == "" || c == p.column {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				threePoisons(t, p)
			})
		}
	}
}

const (
	healthyKeys = 9
	roundEvery  = 100 * time.Millisecond
)

// flow has the published messages: rounds of healthy ones, a poison in the tenth of some
// keys.
type flow struct {
	t       *testing.T
	bus     *bus.Bus
	topic   string
	poisons map[string]*message.Message // by key
	began   []time.Time                 // when each round was published
}

// round publishes the next message of each key. Keys with poison have thirty: the messages
// after the poison wait for it, and take room in the window.
func (f *flow) round() {
	f.t.Helper()
	n := len(f.began) + 1
	var all []*message.Message
	for k := range healthyKeys {
		all = append(all, step{Key: fmt.Sprint("k", k), N: n}.message(f.t))
	}
	for key, bad := range f.poisons {
		switch {
		case n == poisonAt:
			all = append(all, bad)
		case n <= poisonSteps:
			all = append(all, step{Key: key, N: n}.message(f.t))
		}
	}
	f.began = append(f.began, time.Now())
	if err := f.bus.Publisher().Publish(f.topic, all...); err != nil {
		f.t.Fatal(err)
	}
}

// total is how many healthy messages were published.
func (f *flow) total() int {
	return len(f.began)*healthyKeys + (min(len(f.began), poisonSteps)-1)*len(f.poisons)
}

// flowed returns how many messages of healthy keys were handled from one moment to
// another, and how many were published in that time.
func (f *flow) flowed(all []entry, from, to time.Time) (handled, published int) {
	for _, e := range all {
		if f.poisons[e.Key] == nil && e.at.After(from) && e.at.Before(to) {
			handled++
		}
	}
	for _, at := range f.began {
		if at.After(from) && at.Before(to) {
			published += healthyKeys
		}
	}
	return handled, published
}

// largest is a message whose dead letter fits only when it is cut.
func (f *flow) largest(p poisonPlace) *message.Message {
	f.t.Helper()
	filled := func(n int) *message.Message {
		m := message.NewMessage(uuid.NewString(), nil)
		if p.bounded == "metadata" {
			m.Metadata.Set("filler", randomText(n))
		} else {
			m.Payload = []byte(randomText(n))
		}
		return m
	}
	if p.bounded == "" {
		return filled(100)
	}
	low, high := 0, 2<<20
	for low < high {
		n := (low + high + 1) / 2
		switch err := f.bus.Publisher().Publish(scratch(f.topic), filled(n)); {
		case err == nil:
			low = n
		case fault.Of(err) == fault.Permanent:
			high = n - 1
		default:
			f.t.Fatalf("%d bytes: %v", n, err)
		}
	}
	f.t.Logf("the transport takes %d bytes", low)
	return filled(low - driver.LetterBytes)
}

func threePoisons(t *testing.T, p poisonPlace) {
	topic := unique()
	told := victim{URL: p.url(t, topic), Topic: topic, Ledger: filepath.Join(t.TempDir(), "ledger")}
	b, err := openPlace(t.Context(), told.URL, "")
	require.NoError(t, err)
	t.Cleanup(func() { check(t, "close the bus", b.Close()) })
	dead := bus.Topic{Name: topic + ".DLT", Groups: []string{"reader"}}
	check(t, "declare topics", b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 6, Groups: []string{topic + "-group"}}, dead))
	f := &flow{t: t, bus: b, topic: topic, poisons: map[string]*message.Message{}}
	kinds := []string{slow, verbose}
	if p.survives {
		kinds = append(kinds, deadly)
	}
	if p.bounded != "" {
		check(t, "declare the scratch topic", b.Declare(t.Context(), bus.Topic{Name: scratch(topic)}))
	} else {
		told.Refuse = driver.LetterBytes
	}
	for _, kind := range kinds {
		m := step{Key: kind, N: poisonAt}.message(t)
		if kind == verbose {
			m = f.largest(p)
		}
		m.Metadata.Set(poison, kind)
		m.Metadata.Set(event.KeyHeader, kind)
		f.poisons[kind] = m
	}
	letters := make(chan *message.Message, 100)
	reader, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
	require.NoError(t, err)
	check(t, "add the reader", reader.Add(bus.Consumer{Topic: dead.Name, Group: "reader", Handler: func(m *message.Message) error {
		letters <- m
		return nil
	}}))
	start(t, "reader", reader.Run)

	for range poisonAt {
		f.round()
	}
	found, deaths := f.untilDead(told, letters)
	all := ledger(told.Ledger)
	eventually(t, "all but the poison is handled", func() bool { return len(firsts(all.read(t))) >= f.total() })
	f.judge(p, found, firsts(all.read(t)), deaths)
}

// untilDead runs the consumer, restarts it when it was killed, and publishes on, until
// each poison has become a dead letter. Then it ends with the test.
func (f *flow) untilDead(told victim, letters <-chan *message.Message) (found map[string]*message.Message, deaths int) {
	f.t.Helper()
	text, err := json.Marshal(told)
	if err != nil {
		f.t.Fatal(err)
	}
	run := func() *launch.Process {
		p, err := launch.Start(launch.Spec{Name: "consumer", Path: os.Args[0], Env: append(os.Environ(), childVictim+"="+string(text), "GORACE=atexit_sleep_ms=0"), Log: os.Stderr})
		if err != nil {
			f.t.Fatal(err)
		}
		return p
	}
	p := run()
	f.t.Cleanup(func() { check(f.t, "stop the consumer", p.Stop(30*time.Second)) })
	tick, limit := time.NewTicker(roundEvery), time.NewTimer(patience)
	defer tick.Stop()
	defer limit.Stop()
	for found = map[string]*message.Message{}; len(found) < len(f.poisons) || len(f.began) < poisonSteps; {
		select {
		case <-p.Done():
			if p.End() != fmt.Sprint("exit status ", poisoned) {
				f.t.Fatalf("the consumer ended with %s", p.End())
			}
			deaths++
			p = run()
		case m := <-letters:
			if kind := m.Metadata.Get(poison); found[kind] == nil { // a death may repeat it
				found[kind] = m
			}
		case <-tick.C:
			f.round()
		case <-limit.C:
			f.t.Fatalf("after %v and %d deaths there are dead letters of %v", patience, deaths, slices.Collect(maps.Keys(found)))
		}
	}
	return found, deaths
}

// judge compares the outcomes of all messages with the promise.
func (f *flow) judge(p poisonPlace, found map[string]*message.Message, all []entry, deaths int) {
	t := f.t
	t.Helper()
	reasons := map[string]string{slow: bus.ReasonExhausted, verbose: bus.ReasonPermanent, deadly: bus.ReasonCrashed}
	last := map[string]time.Time{}
	for kind, m := range found {
		was := f.poisons[kind]
		if m.UUID != was.UUID || string(m.Payload) != string(was.Payload) || m.Metadata.Get(driver.DLQOriginalTopic) != f.topic || m.Metadata.Get(driver.DLQReason) != reasons[kind] {
			t.Errorf("of %d bytes that are %s the dead letter has %d, and says %.2000v", len(was.Payload), kind, len(m.Payload), m.Metadata)
		}
		last[kind] = when(t, m, driver.DLQLastFailure)
	}
	why := found[slow].Metadata
	if !strings.Contains(why[driver.DLQError], bus.ErrHandlerTimeout.Error()) || why[driver.DLQAttempts] != "4" {
		t.Errorf("the slow one says %v", why)
	}
	if why := found[verbose].Metadata; why[driver.DLQStack] != "" || len(why[driver.DLQError]) > 300 || len(why[driver.DLQError]) < 200 {
		t.Errorf("the letter that was refused has a stack of %d bytes and an error of %d: it was not cut", len(why[driver.DLQStack]), len(why[driver.DLQError]))
	}

	next := map[string]int{}
	for _, e := range all {
		want := next[e.Key] + 1
		if f.poisons[e.Key] != nil && want == poisonAt {
			want++
			if e.at.Before(last[e.Key].Add(-time.Second)) { // to the second
				t.Errorf("what comes after the %s one was handled at %v, before that was given up at %v", e.Key, e.at, last[e.Key])
			}
		}
		require.Equalf(t, want, e.N, "of key %s, %d was handled", e.Key, e.N)
		next[e.Key] = e.N
	}
	first := when(t, found[slow], driver.DLQFirstFailure)
	handled, published := f.flowed(all, first, last[slow])
	if span := last[slow].Sub(first); span < 6*time.Second || handled < published/10 {
		t.Errorf("the slow one was tried for %v; meanwhile %d healthy messages were handled and %d published", span, handled, published)
	}
	measured(t, "%s: slow tried for %v, meanwhile %d healthy messages were handled of %d", p.name, last[slow].Sub(first).Round(time.Second), handled, published)
	if !p.survives {
		return
	}
	// A process has little time before it dies, and from the third start on the messages of a
	// partition are handled one at a time: the number handled meanwhile is measured, and not
	// promised. That all are handled is promised.
	beside := 0
	for _, e := range all {
		if f.poisons[e.Key] == nil && e.N <= poisonAt && e.at.Before(last[deadly]) {
			beside++
		}
	}
	handled, published = f.flowed(all, time.Time{}, last[deadly])
	// Four starts without progress, and one for each that made some: some thirty messages are
	// before the deadly one in its partition.
	if deaths < 4 || deaths > 40 {
		t.Errorf("%d processes died, want 4 to 40", deaths)
	}
	measured(t, "%s: %d processes died in %v, meanwhile %d healthy messages were handled of %d, and %d of the %d beside it",
		p.name, deaths, last[deadly].Sub(f.began[poisonAt-1]).Round(time.Second), handled, published, beside, healthyKeys*poisonAt)
}

// when is a time that a dead letter has.
func when(t testing.TB, m *message.Message, name string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, m.Metadata.Get(name))
	check(t, name, err)
	return at
}
