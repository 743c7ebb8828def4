package scenarios

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest"
)

// The process that consumes beside another one.
const childPoison = "SCENARIOS_CHILD_POISON"

// step is one event of a key, and the data of it.
type step struct {
	Key string `json:"key"`
	N   int    `json:"n"`
}

// message is the step as it is published.
func (s step) message(t testing.TB) *message.Message {
	t.Helper()
	e, err := event.New("Step", "/scenarios", s)
	require.NoError(t, err)
	e.AggregateType, e.AggregateID = "key", s.Key
	m, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	return m
}

// The faults of a message, in its metadata.
const (
	poison   = "poison"
	hopeless = "hopeless" // no handler can handle it
	slow     = "slow"     // it takes longer than the consumer's timeout
	verbose  = "verbose"  // its failure has a long text
	deadly   = "deadly"   // it kills the process
)

const poisoned = 3 // the exit code of a process that was killed by a message

// journal records the handled messages, in order.
type journal struct {
	mu  sync.Mutex
	all []entry
}

type entry struct {
	step
	at time.Time
}

func (j *journal) note(_ context.Context, s step) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, entry{s, time.Now()})
	return nil
}

func (j *journal) read(testing.TB) []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]entry(nil), j.all...)
}

// rows is a journal that processes share.
type rows struct{ db *sql.DB }

func (r rows) note(ctx context.Context, s step) error {
	_, err := r.db.ExecContext(ctx, `INSERT INTO handled (key, n) VALUES ($1, $2)`, s.Key, s.N)
	return err
}

func (r rows) read(t testing.TB) (all []entry) {
	t.Helper()
	found, err := r.db.QueryContext(t.Context(), `SELECT key, n, at FROM handled ORDER BY id`)
	require.NoError(t, err)
	defer found.Close() //nolint:errcheck // Err tells
	for found.Next() {
		var e entry
		require.NoError(t, found.Scan(&e.Key, &e.N, &e.at))
		all = append(all, e)
	}
	check(t, "read the journal", found.Err())
	return all
}

// swallow handles a message with a fault.
func swallow(m *message.Message) error {
	switch what := m.Metadata.Get(poison); what {
	case slow:
		<-m.Context().Done()
		return m.Context().Err()
	case verbose:
		return fault.MarkPermanent(longError(randomText(16 << 10)))
	case deadly:
		os.Exit(poisoned) // as if it had run out of memory
		return nil
	default:
		return errors.New("nobody can handle what is " + what)
	}
}

// longError has a long text and a long stack, which no transport can compress.
type longError string

func (e longError) Error() string { return string(e) }

func (e longError) Format(f fmt.State, verb rune) {
	fmt.Fprint(f, string(e))
	if verb == 'v' && f.Flag('+') {
		fmt.Fprint(f, "\n", randomText(16<<10))
	}
}

// randomText is n bytes long.
func randomText(n int) string {
	noise := make([]byte, n)
	rand.Read(noise) //nolint:errcheck // it never fails
	return base64.StdEncoding.EncodeToString(noise)[:n]
}

// poisonTimeout bounds a handler's duration.
const poisonTimeout = time.Second

// consumes is a consumer that cannot handle the poison and records the rest.
func consumes(b *bus.Bus, topic string, note func(context.Context, step) error) (*bus.Runner, error) {
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
	if err != nil {
		return nil, err
	}
	healthy := bus.Handle(func(ctx context.Context, e event.Event) error {
		var s step
		if err := e.UnmarshalData(&s); err != nil {
			return err
		}
		return note(ctx, s)
	})
	return r, r.Add(bus.Consumer{Topic: topic, Group: topic + "-group", Timeout: poisonTimeout, Handler: func(m *message.Message) error {
		if m.Metadata.Get(poison) != "" {
			return swallow(m)
		}
		return healthy(m)
	}})
}

const (
	poisonKeys  = 10
	poisonSteps = 30
	poisonAt    = 10 // of the first key
)

// poisons publishes the steps of all keys, one of them poison, and compares the
// outcomes with the promise.
func poisons(t *testing.T, b *bus.Bus, topic string, read func(testing.TB) []entry) {
	t.Helper()
	for n := 1; n <= poisonSteps; n++ {
		var all []*message.Message
		for k := range poisonKeys {
			m := step{Key: fmt.Sprint("k", k), N: n}.message(t)
			if k == 0 && n == poisonAt {
				m.Metadata.Set(poison, hopeless)
			}
			all = append(all, m)
		}
		check(t, "publish", b.Publisher().Publish(topic, all...))
	}
	eventually(t, "all but the poison is handled", func() bool { return len(read(t)) >= poisonKeys*poisonSteps-1 })
	var letters []*message.Message
	eventually(t, "the poison is a dead letter", func() bool {
		var err error
		letters, err = b.Browse(t.Context(), topic+".DLT", 10)
		check(t, "read the dead letters", err)
		return len(letters) > 0
	})
	if len(letters) != 1 || letters[0].Metadata.Get(driver.DLQOriginalTopic) != topic || letters[0].Metadata.Get(driver.DLQReason) != bus.ReasonExhausted {
		t.Fatalf("%d dead letters, the first: %v", len(letters), letters[0].Metadata)
	}
	first, last := when(t, letters[0], driver.DLQFirstFailure), when(t, letters[0], driver.DLQLastFailure)
	next, others := map[string]int{}, 0
	for _, e := range read(t) {
		want := next[e.Key] + 1
		if e.Key == "k0" && want == poisonAt {
			want++                                   // the dead letter
			if e.at.Before(last.Add(-time.Second)) { // to the second
				t.Errorf("what comes after the poison was handled at %v, before it was given up at %v", e.at, last)
			}
		}
		require.Equalf(t, want, e.N, "of key %s, %d was handled", e.Key, e.N)
		next[e.Key] = e.N
		if e.Key != "k0" && !e.at.After(last) {
			others++
		}
	}
	for k, n := range next {
		assert.Equalf(t, poisonSteps, n, "key %s ended at %d", k, n)
	}
	if span := last.Sub(first); span < 4*time.Second || others < (poisonKeys-1)*poisonSteps/2 {
		t.Errorf("the poison was tried for %v, and meanwhile %d of %d events of other keys were handled", span, others, (poisonKeys-1)*poisonSteps)
	}
	measured(t, "tried for %v, then one dead letter; %d of %d events of other keys were handled meanwhile, its own key waited in order",
		last.Sub(first).Round(time.Second), others, (poisonKeys-1)*poisonSteps)
}

// An event that no handler can handle is tried for its time and becomes a dead
// letter, once. Later events of its key wait for that and are handled in order; other
// keys do not wait.
func TestScenario20Poison(t *testing.T) {
	columns(t, func(t *testing.T) {
		url := "sqlite://" + freshFile(t)
		box := boxtest.Open(t, url)
		b, err := openFile(t.Context(), box.Store, url)
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the bus", b.Close()) })
		j, topic := &journal{}, unique()
		declareSteps(t, b, topic)
		r, err := consumes(b, topic, j.note)
		require.NoError(t, err)
		start(t, "consumer", r.Run)
		poisons(t, b, topic, j.read)
	}, func(t *testing.T) {
		topic := unique()
		url := transporttest.Kafka(t, topic)
		b, err := bus.Open(t.Context(), url, kafkabus.Scheme(kafkabus.Config{Logger: quiet}))
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the bus", b.Close()) })
		declareSteps(t, b, topic)
		base := servicetest.PostgresURL(t)
		db, err := pgdb.Open(base)
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the pool", db.Close()) })
		_, err = db.Exec(`CREATE TABLE handled (id BIGINT GENERATED ALWAYS AS IDENTITY, key TEXT NOT NULL, n INTEGER NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())`)
		require.NoError(t, err)
		given, err := json.Marshal([]string{url, base, topic})
		require.NoError(t, err)
		for n := range 2 {
			p, err := launch.Start(launch.Spec{
				Name: fmt.Sprint("consumer ", n+1), Path: os.Args[0], Env: append(os.Environ(), childPoison+"="+string(given)), Log: os.Stderr,
			})
			require.NoError(t, err)
			t.Cleanup(func() { check(t, "stop a consumer", p.Stop(30*time.Second)) })
			_, err = p.FirstLine(t.Context())
			require.NoError(t, err)
		}
		poisons(t, b, topic, rows{db}.read)
	})
}

func declareSteps(t *testing.T, b *bus.Bus, topic string) {
	t.Helper()
	check(t, "declare topics", b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 6, Groups: []string{topic + "-group"}}, bus.Topic{Name: topic + ".DLT"}))
}

// consumeAlone is a process that consumes until it is asked to end.
func consumeAlone(text string) error {
	var given []string
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b, err := bus.Open(ctx, given[0], kafkabus.Scheme(kafkabus.Config{Logger: quiet}))
	if err != nil {
		return err
	}
	db, err := pgdb.Open(given[1])
	if err != nil {
		return errors.Join(err, b.Close())
	}
	r, err := consumes(b, given[2], rows{db}.note)
	if err == nil {
		go func() {
			select {
			case <-r.Running():
				fmt.Println("consuming")
			case <-ctx.Done():
			}
		}()
		err = r.Run(ctx)
	}
	return errors.Join(err, b.Close(), db.Close())
}
