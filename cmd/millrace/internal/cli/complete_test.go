package cli_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

// offered returns the completions of the Tab key at the end of a command line, and checks
// that they are not files.
func offered(t *testing.T, args ...string) []string {
	t.Helper()
	return offeredWithin(t, time.Hour, args...) // a busy machine does not exceed it
}

// offeredWithin has a limit of its own for the server's answer.
func offeredWithin(t *testing.T, limit time.Duration, args ...string) []string {
	t.Helper()
	got := toolWith(t.Context(), cli.Streams{LookUp: limit}, append([]string{"__complete"}, args...)...).want(t, 0)
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if last := lines[len(lines)-1]; last != ":4" && last != ":6" { // no files; and go on with the word
		t.Errorf("%q ends with %s", args, last)
	}
	return lines[:len(lines)-1]
}

func TestCompletionOfValues(t *testing.T) {
	for line, want := range map[string]string{
		"outbox status --kind":             "cursor status",
		"migrate print --dialect":          "postgres mysql sqlite",
		"migrate up --layout":              "event_handled processed_events",
		"migrate up --package":             "outbox outbox-status bus idempotency leases counter counter-log all",
		"doctor --package":                 "outbox outbox-status bus idempotency leases counter counter-log",
		"outbox debezium --format":         "properties json",
		"dlq list --reason":                "PERMANENT RETRIES_EXHAUSTED PANIC CRASHED",
		"dlq list --bus":                   "amqp:// amqps:// kafka:// mysql:// nats:// postgres:// postgresql:// redis:// rediss:// sns:// sqlite:// sqs:// tls://",
		"queue status --redis":             "redis:// rediss://",
		"outbox failed --limit":            "",
		"dlq list":                         "",
		"dlq list --bus mem://":            "",
		"dlq list --bus sqlite://none.db":  "",
		"queue status --redis redis://[::": "",
		"outbox retry --db sqlite://no.db": "",
		"doctor":                           "",
	} {
		if got := strings.Join(offered(t, append(strings.Fields(line), "")...), " "); got != want {
			t.Errorf("%q offers %q, want %q", line, got, want)
		}
	}
}

func TestCompletionOfTopics(t *testing.T) {
	raw := "sqlite://" + filepath.Join(t.TempDir(), "bus.db")
	if got := offered(t, "dlq", "list", "--bus", raw, ""); len(got) > 0 {
		t.Errorf("without a file it offers %q", got)
	}
	b := openBus(t, raw)
	if err := b.Declare(t.Context(), bus.Topic{Name: "dlq.payment", Groups: []string{driver.RedriveGroup}}, bus.Topic{Name: "payment.events", Groups: []string{"stats"}}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, b.Publisher().Publish("dlq.payment", message.NewMessage("1", nil)))
	if got := offered(t, "dlq", "list", "--bus", raw, ""); len(got) != 1 || got[0] != "dlq.payment" {
		t.Errorf("it offers %q", got)
	}
	if got := offered(t, "dlq", "show", "--bus", raw, "dlq.payment", ""); len(got) > 0 {
		t.Errorf("for the id it offers %q", got)
	}
}

// A completion creates no tables.
func TestCompletionMakesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		db := p.open(t)
		_, err := db.Exec("CREATE TABLE other (id INT)")
		require.NoError(t, err)
		for _, line := range []string{"dlq list --bus", "outbox retry --db", "outbox status --db"} {
			if got := offered(t, append(strings.Fields(line), p.url, "")...); len(got) > 0 {
				t.Errorf("%q offers %q", line, got)
			}
		}
		if n := p.tables(t, db); n != 1 {
			t.Errorf("there are %d tables", n)
		}
	})
}

func TestCompletionOfShardsAndIDs(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		db := p.open(t)
		b := p.store(t, db, "cursor")
		park(t, db, b, 2)
		assert.Equal(t, "0 1 2", strings.Join(offered(t, "outbox", "status", "--db", p.url, "--shard", ""), " "), "shards")
		parked, err := b.Parked(t.Context(), 0, 2)
		require.NoError(t, err)
		first, second := fmt.Sprintf("%d\tpoison", parked[0].ID), fmt.Sprintf("%d\tpoison", parked[1].ID)
		if got := offered(t, "outbox", "retry", "--db", p.url, ""); len(got) != 2 || got[0] != first || got[1] != second {
			t.Errorf("ids %q, want %q and %q", got, first, second)
		}
		if got := offered(t, "outbox", "retry", "--db", p.url, fmt.Sprint(parked[0].ID), ""); len(got) != 1 || got[0] != second {
			t.Errorf("after the first %q", got)
		}
		tool(t, "outbox", "status", "--db", p.url, "--shard", "2").want(t, 0, "cursor")
		tool(t, "outbox", "status", "--db", p.url, "--shard", "3").want(t, 2, `there is no shard "3" of the outbox; the nearest that is there is "2"`)
	})
}

// The Tab key does not wait for a server that never answers.
func TestCompletionIsBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	defer all.Wait()
	defer l.Close()
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { _, _ = io.Copy(io.Discard, c); c.Close() }) // it never answers
		}
	})
	for _, line := range []string{"queue status --redis redis://", "dlq list --bus redis://", "outbox status --db postgres://a@%s/b --shard"} {
		if !strings.Contains(line, "%s") {
			line += "%s"
		}
		if got := offeredWithin(t, 10*time.Millisecond, append(strings.Fields(fmt.Sprintf(line, l.Addr())), "")...); len(got) > 0 {
			t.Errorf("%q offers %q", line, got)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell, want := range map[string]string{"bash": "__start_millrace", "zsh": "#compdef millrace", "fish": "complete -c millrace", "powershell": "Register-ArgumentCompleter"} {
		got := tool(t, "completion", shell).want(t, 0, want)
		assert.Equalf(t, "", got.err, "%s", shell)
	}
}
