package allbus_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest"
)

// drilled are the transports whose groups have members in several processes, on every server
// that they run on.
var drilled = []struct {
	name string
	url  func(t *testing.T, topic string) string
}{
	{"sqlite", urls()["sqlite"]},
	{"postgres", urls()["postgres"]},
	{"mariadb", func(t *testing.T, _ string) string { return servicetest.MariaDBURL(t) }},
	{"mysql", urls()["mysql"]},
	{"redis", urls()["redis"]},
	{"rediscluster", func(t *testing.T, _ string) string { return transporttest.RedisCluster(t) }},
	{"kafka", func(t *testing.T, topic string) string { return transporttest.Kafka(t, topic, topic+".DLT") }},
	{"amqp", func(t *testing.T, topic string) string {
		queues := []string{topic + ":" + group + ":members", topic + ".DLT"}
		for n := range 3 {
			queues = append(queues, fmt.Sprint(topic, ":", group, ":", n))
		}
		return transporttest.RabbitMQ(t, queues...)
	}},
	{"nats", urls()["nats"]},
	{"sqs", urls()["sqs"]},
}

const drillKeys = 60

// drill is a topic whose messages are numbered by key, and a group of processes.
type drill struct {
	membership
	bus  *bus.Bus
	each int // messages of each key that were published
}

// drills runs a test on every transport.
func drills(t *testing.T, run func(t *testing.T, d *drill)) {
	for _, on := range drilled {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			topic := "t-" + uuid.NewString()
			d := &drill{membership: membership{Topic: topic, URL: on.url(t, topic), Ledger: newLedger(t), Concurrency: 8, Window: 1024}}
			var err error
			if d.bus, err = openAs(t.Context(), d.URL, ""); err != nil {
				t.Fatal(err)
			}
			defer func() {
				assert.NoError(t, d.bus.Close())
			}()
			require.NoError(t, d.bus.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
			run(t, d)
		})
	}
}

// publish publishes the next n messages of each key, and reports the end on a channel.
func (d *drill) publish(n int) <-chan error {
	first := d.each + 1
	d.each += n
	last, ended := d.each, make(chan error, 1)
	go func() {
		var all []*message.Message
		for n := first; n <= last; n++ {
			for k := range drillKeys {
				key := fmt.Sprint("key-", k)
				m := message.NewMessage(uuid.NewString(), fmt.Append(nil, key, " ", n))
				m.Metadata.Set(event.KeyHeader, key)
				all = append(all, m)
			}
		}
		for part := range slices.Chunk(all, 10*drillKeys) {
			if err := d.bus.Publisher().Publish(d.Topic, part...); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	return ended
}

func published(t *testing.T, ended <-chan error) {
	t.Helper()
	require.NoError(t, <-ended)
}

// done reports whether every message that was published was handled.
func (d *drill) done(t *testing.T) bool {
	t.Helper()
	handled, _ := tally(t, d.Ledger)
	return handled == drillKeys*d.each
}

// all waits until every message that was published was handled.
func (d *drill) all(t *testing.T) {
	t.Helper()
	until(t, 3*time.Minute, "every message is handled", func() bool { return lines(t, d.Ledger) >= drillKeys*d.each && d.done(t) })
}

// workers returns the processes that have handled messages.
func (d *drill) workers(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	for line := range strings.Lines(string(readLedger(t, d.Ledger))) {
		found[strings.Fields(line)[2]]++
	}
	return found
}

// A consumer that is stopped in order, six times in the middle of a backlog, loses nothing,
// keeps the order of each key, and repeats almost nothing.
func TestSixOrderlyStops(t *testing.T) {
	const stops, most = 6, 20
	drills(t, func(t *testing.T, d *drill) {
		d.Work = time.Millisecond
		published(t, d.publish(100))
		stopping := d.membership
		stopping.After, stopping.Signal = 500, syscall.SIGTERM
		for n := range stops {
			stopping.start(t).stopped(t)
			_, again := tally(t, d.Ledger)
			t.Logf("stop %d after %d handlings, %d of them repeats", n+1, lines(t, d.Ledger), again)
		}
		require.False(t, d.done(t), "the last stop came after the last message; it has to come in the middle")
		m := d.start(t)
		d.all(t)
		// The next message of each key is delivered after all repeats of earlier ones.
		published(t, d.publish(1))
		d.all(t)
		m.stop(t)
		_, again := tally(t, d.Ledger)
		t.Logf("%d of %d messages were handled again", again, drillKeys*d.each)
		if again > most {
			t.Errorf("%d messages were handled again after %d orderly stops, want at most %d", again, stops, most)
		}
	})
}

// Members of a group that are killed at random lose nothing: others, or the same one after its
// restart, handle its messages in flight, in the order of each key.
func TestKillsOfThreeMembers(t *testing.T) {
	const kills = 5
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	drills(t, func(t *testing.T, d *drill) {
		draw := rand.New(rand.NewPCG(seed, 0))
		d.Work = 20 * time.Millisecond
		deaths := 0
		begin := func() *member {
			told := d.membership
			if deaths < kills {
				told.After, told.Signal = 150+draw.Int64N(200), syscall.SIGKILL
			}
			return told.start(t)
		}
		members := [3]*member{begin(), begin(), begin()}
		// handled waits until every message is, and restarts members that have died.
		handled := func() {
			t.Helper()
			until(t, 3*time.Minute, "every message is handled", func() bool {
				for i, m := range members {
					if m.died() {
						deaths++
						t.Logf("death %d, of member %d, after %d handlings", deaths, i+1, lines(t, d.Ledger))
						members[i] = begin()
					}
				}
				return lines(t, d.Ledger) >= drillKeys*d.each && d.done(t)
			})
		}
		began := time.Now()
		for len(d.workers(t)) < len(members) {
			if time.Since(began) > 2*time.Minute {
				t.Fatalf("%d of %d members have handled something within 2 minutes", len(d.workers(t)), len(members))
			}
			published(t, d.publish(1))
			handled()
		}
		ended := d.publish(50)
		handled()
		published(t, ended)
		for _, m := range members {
			m.kill()
		}
		_, again := tally(t, d.Ledger)
		t.Logf("%d messages, %d of them again, by %d processes, in %v", drillKeys*d.each, again, len(d.workers(t)), time.Since(began).Round(time.Millisecond))
		if deaths < kills {
			t.Errorf("%d members died, want at least %d", deaths, kills)
		}
	})
}
