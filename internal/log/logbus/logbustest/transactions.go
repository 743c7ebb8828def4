package logbustest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/sqltx"
)

// Transactions checks publishing inside an application's transactions.
func Transactions(t *testing.T, tr Transport) {
	url := tr.URL(t)
	db := tr.App(t, url, 8)
	must(t, db, `CREATE TABLE seats (id VARCHAR(40) PRIMARY KEY)`)
	b := tr.Open(t, url, Settings{DB: db})
	stop := errors.New("roll back")
	send := func(topic, payload string, fail error) (late *message.Message) {
		t.Helper()
		err := sqltx.Do(t.Context(), db, func(ctx context.Context, _ *sql.Tx) error {
			late = Keyed("k", payload)
			late.SetContext(ctx)
			if err := b.Publisher().Publish(topic, late); err != nil {
				return err
			}
			if got := Payloads(t, b, topic); len(got) > 0 && got[len(got)-1] == payload {
				t.Errorf("%s is seen before the commit", payload)
			}
			return fail
		})
		if !errors.Is(err, fail) {
			t.Fatal(err)
		}
		return late
	}
	holds := func(topic string, want ...string) {
		t.Helper()
		if got := Payloads(t, b, topic); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s holds %q, want %q", topic, got, want)
		}
	}
	// The first publish also makes the topic.
	send("a", "never", stop)
	send("b", "b1", nil)
	holds("a")
	holds("b", "b1")
	send("a", "a1", nil)
	holds("a", "a1")
	holds("b", "b1")

	ch := sourcetest.Subscribe(t, b, "group", "a", 10)
	Expect(t, ch, "a1")
	late := send("a", "never", stop)
	send("a", "a2", nil)
	Expect(t, ch, "a2")
	// A message whose context carries a finished transaction, as a dead letter may, is published
	// on its own.
	sourcetest.Publish(t, b, "a", late)
	Expect(t, ch, "never")

	handlers(t, tr, url)
	first(t, tr)
}

// first publishes in a transaction as the first use of the bus, on a pool with one connection:
// the preparations need no other connection.
func first(t *testing.T, tr Transport) {
	url := tr.URL(t)
	db := tr.App(t, url, 1)
	b := tr.Open(t, url, Settings{DB: db})
	stop := errors.New("roll back")
	for payload, fail := range map[string]error{"never": stop, "1": nil} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := sqltx.Do(ctx, db, func(ctx context.Context, _ *sql.Tx) error {
			m := Keyed("k", payload)
			m.SetContext(ctx)
			return errors.Join(b.Publisher().Publish("topic", m), fail)
		})
		cancel()
		if fail == nil && err != nil || !errors.Is(err, fail) {
			t.Fatalf("the first publish, in a transaction: %v", err)
		}
	}
	if got := Payloads(t, b, "topic"); len(got) != 1 || got[0] != "1" {
		t.Errorf("the topic holds %q, want 1", got)
	}
}

// handlers write the same database in transactions of their own, and publish in them: the bus
// has no transaction open meanwhile. The application's pool has only one connection.
func handlers(t *testing.T, tr Transport, url string) {
	db := tr.App(t, url, 1)
	b := tr.Open(t, url, Settings{DB: db})
	requests, answers := sourcetest.Subscribe(t, b, "group", "requests", 10), sourcetest.Subscribe(t, b, "group", "answers", 10)
	const n = 30
	for i := range n {
		sourcetest.Publish(t, b, "requests", Keyed(fmt.Sprint(i), fmt.Sprint(i)))
	}
	done := make(chan error, n)
	go func() {
		for range n {
			m := <-requests
			go func() {
				done <- sqltx.Do(m.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
					if _, err := tx.ExecContext(ctx, `INSERT INTO seats VALUES ('`+string(m.Payload)+`')`); err != nil {
						return err
					}
					answer := Keyed(string(m.Payload), string(m.Payload))
					answer.SetContext(ctx)
					return b.Publisher().Publish("answers", answer)
				})
				m.Ack()
			}()
		}
	}()
	for range n {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		sourcetest.Receive(t, answers).Ack()
	}
	var seats int
	if err := db.QueryRow(`SELECT COUNT(*) FROM seats`).Scan(&seats); err != nil || seats != n {
		t.Errorf("%d seats (%v), want %d", seats, err, n)
	}
}

// OtherDatabase sets the pool of another database: messages published inside its transactions
// are published on their own, and the bus creates nothing there.
func OtherDatabase(t *testing.T, tr Transport) {
	url := tr.URL(t)
	other := tr.App(t, tr.URL(t), 4)
	b := tr.Open(t, url, Settings{DB: other})
	stop := errors.New("roll back")
	err := sqltx.Do(t.Context(), other, func(ctx context.Context, _ *sql.Tx) error {
		m := Keyed("k", "1")
		m.SetContext(ctx)
		if err := b.Publisher().Publish("topic", m); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if got := Payloads(t, b, "topic"); len(got) != 1 {
		t.Errorf("the topic holds %q, want 1", got)
	}
	if _, err := other.Exec(`SELECT 1 FROM bus_topics`); err == nil {
		t.Error("the other database has tables of the bus")
	}
}

// OtherProcessWakes measures from the end of Publish in one process to the handler in another,
// and checks the median.
func OtherProcessWakes(t *testing.T, tr Transport, most time.Duration) {
	url := tr.URL(t)
	a, b := tr.Open(t, url, Settings{}), tr.Open(t, url, Settings{})
	ch := sourcetest.Subscribe(t, b, "group", "topic", 10)
	sourcetest.Publish(t, a, "topic", Keyed("k", "0"))
	Expect(t, ch, "0")
	const rounds = 20
	var took []time.Duration
	for n := range rounds {
		<-time.After(time.Duration(n) * 10 * time.Millisecond) // an idle reader polls seldom
		sourcetest.Publish(t, a, "topic", Keyed("k", "x"))
		published := time.Now()
		Expect(t, ch, "x")
		took = append(took, time.Since(published))
	}
	median := Median(took)
	t.Logf("another process's messages took %v, the median of %d", median, rounds)
	if median > most {
		t.Errorf("a message of another process took %v, want at most %v: the median of %v", median, most, took)
	}
}

// Median returns the median of the measurements, which a few stalls of the machine do not move.
// It sorts took.
func Median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}
