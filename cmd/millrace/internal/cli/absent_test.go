package cli_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

// A topic, a letter or a group that does not exist is an error with the nearest that does,
// on every transport and for every command of dead letters. Looking for it creates nothing.
func TestAbsentLetters(t *testing.T) {
	eachTransport(t, func(t *testing.T, rawURL, topic string) {
		b := openBus(t, rawURL)
		ids := bury(t, b, topic, 2)
		dlt, typo := topic+".DLT", topic+".DTL"
		noTopic := fmt.Sprintf("there is no topic %q on the transport", typo)
		if _, err := b.Topics(t.Context()); err == nil {
			noTopic += fmt.Sprintf("; the nearest that is there is %q", dlt)
		}
		wrong := ids[0][:len(ids[0])-1] + "x"
		noLetter := fmt.Sprintf("the nearest that is there is %q", ids[0])
		noGroup := `there is no group "biling" on the transport; the nearest that is there is "billing"`
		noFrom := fmt.Sprintf(`there is no topic "%sX" on the transport; the nearest that is there is %q`, topic, topic)
		for line, want := range map[string]string{
			"list " + typo:                            noTopic,
			"show " + typo + " " + ids[0]:             noTopic,
			"edit " + typo + " " + ids[0] + payloadOf: noTopic,
			"redrive " + typo + " --all":              noTopic,
			"redrive " + typo + " --all --dry-run":    noTopic,
			"drop " + typo + " --all --yes":           noTopic,

			"show " + dlt + " " + wrong:                        noLetter,
			"edit " + dlt + " " + wrong + payloadOf:            noLetter,
			"redrive " + dlt + " " + wrong:                     noLetter,
			"redrive " + dlt + " " + wrong + " --dry-run":      noLetter,
			"drop " + dlt + " " + wrong + " --yes":             noLetter,
			"list " + dlt + " --group biling":                  noGroup,
			"list " + dlt + " --group biling --json":           noGroup,
			"redrive " + dlt + " --group biling":               noGroup,
			"drop " + dlt + " --group biling --yes":            noGroup,
			"drop " + dlt + " --group biling --dry-run --json": noGroup,
			"list " + dlt + " --from " + topic + "X":           noFrom,
			"redrive " + dlt + " --from " + topic + "X":        noFrom,
		} {
			got := toolWith(t.Context(), cli.Streams{In: strings.NewReader("{}")}, append(append([]string{"dlq"}, strings.Fields(line)...), "--bus", rawURL)...)
			if got.want(t, 1, want); strings.Contains(got.out, "no dead letters") {
				t.Errorf("%s: says %q of what is not there", line, got.out)
			}
		}
		// Nothing was taken, and no topic was created.
		assert.Equal(t, 2, read[listing](t, tool(t, "dlq", "list", dlt, "--json", "--bus", rawURL).want(t, 0)).Pending, "letters are")
		if found, err := b.Topics(t.Context(), typo); err != nil || len(found) != 0 {
			t.Errorf("the mistyped topic was made: %v, %v", found, err)
		}
		// A group and a topic that exist and have no letters are no error; nor is an empty
		// topic of dead letters.
		for _, line := range []string{"list " + dlt + " --from " + dlt, "list " + dlt + " --reason NONE"} {
			tool(t, append(append([]string{"dlq"}, strings.Fields(line)...), "--bus", rawURL)...).want(t, 0, "no dead letters of 2")
		}
		tool(t, "dlq", "drop", dlt, "--all", "--yes", "--bus", rawURL).want(t, 0, "2 dead letters dropped")
		tool(t, "dlq", "list", dlt, "--bus", rawURL).want(t, 0, "no dead letters")
		tool(t, "dlq", "list", dlt, "--group", "biling", "--bus", rawURL).want(t, 0, "no dead letters")
	})
}

// payloadOf keeps an edit from starting an editor.
const payloadOf = " --payload -"

// A database without the transport's tables has no topic, and gets no tables.
func TestAbsentTables(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		db := p.open(t)
		if p.name == "sqlite" { // the file is created by the first connection
			_, err := db.ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER)")
			require.NoError(t, err)
		}
		before := p.tables(t, db)
		for _, line := range []string{"list orders.DLT", "show orders.DLT 1", "redrive orders.DLT --all", "drop orders.DLT --all --yes"} {
			tool(t, append(append([]string{"dlq"}, strings.Fields(line)...), "--bus", p.url)...).
				want(t, 1, `there is no topic "orders.DLT" on the transport, which has no tables in this database`)
		}
		if after := p.tables(t, db); after != before {
			t.Errorf("%d tables were made", after-before)
		}
	})
}

// The same in mode=tx, whose topics are tables.
func TestAbsentTopicInModeTx(t *testing.T) {
	for _, name := range []string{"postgres", "mariadb"} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(transports[name](t, ""))
			require.NoError(t, err)
			q := u.Query()
			q.Set("mode", "tx")
			u.RawQuery = q.Encode()
			b := openBus(t, u.String())
			require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "orders.DLT", Groups: []string{driver.RedriveGroup}}))
			tool(t, "dlq", "list", "orders.DTL", "--bus", u.String()).want(t, 1, `the nearest that is there is "orders.DLT"`)
			tool(t, "dlq", "list", "orders.DLT", "--bus", u.String()).want(t, 0, "no dead letters")
		})
	}
}

// The messages about names that do not exist, and the exit codes, as people read them.
func TestGoldenAbsent(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	note := func(url, line string) {
		t.Helper()
		args := append(strings.Fields(line), strings.Fields(url)...)
		got := toolWith(t.Context(), cli.Streams{In: strings.NewReader("{}")}, args...)
		fmt.Fprintf(&told, "$ millrace %s\n%s%sexit code %d\n\n", line, got.out, got.err, got.code)
	}
	for _, line := range []string{
		"redrive", "outbux status", "dlq lst", "dlq revive", "queue stauts", "migrate dwon", "outbox retri 17", "completion csh", "doctr",
		"help dlq lst", "help redriv", "help doctor now", "dlq list orders.DLT --reson API_5XX", "dlq list orders.DLT --reason", "outbox status --shrad 1", "queue threshold show-1 --prefx x", "-q doctor",
	} {
		note("", line)
	}
	_, rawURL, ids := graves(t, 2)
	for _, line := range []string{
		"dlq list oders.DLT", "dlq show orders.dlt " + ids[0], "dlq list orders.DLT --group biling", "dlq list orders.DLT --from ordres",
		"dlq list orders.DLT --group billing --reason NONE",
	} {
		note("--bus "+rawURL, line)
	}
	p := place{name: "sqlite", url: "sqlite://" + filepath.Join(t.TempDir(), "app.db")}
	db := p.open(t)
	park(t, db, p.store(t, db, "cursor"), 2)
	for _, line := range []string{"outbox retry 1 17", "outbox retry 12 --json", "outbox status --shard 7", "outbox failing --kind status", "dlq list orders.DLT"} {
		if strings.HasPrefix(line, "dlq") {
			note("--bus "+p.url, line)
			continue
		}
		note("--db "+p.url, line)
	}
	cli.Golden(t, "absent.txt", told.String())
}

// An unused event is an error with the nearest that is in use, and gets no room. The
// threshold of a sale that has not opened yet can be set nevertheless.
func TestAbsentEvents(t *testing.T) {
	eachRedis(t, func(t *testing.T, r rooms) {
		at := func(args ...string) []string {
			return append(append([]string{"queue"}, args...), "--redis", r.url, "--prefix", r.prefix)
		}
		absent := fmt.Sprintf(`there is no event "show-9" under the prefix %q`, r.prefix)
		tool(t, at("status", "show-9")...).want(t, 1, absent+": nobody has used it")
		r.come(t, "show-1", 3)
		absent += `; the nearest that is there is "show-1"`
		for _, args := range [][]string{{"status", "show-9"}, {"status", "show-1", "show-9", "--json"}, {"threshold", "show-9"}, {"threshold", "show-9", "5"}} {
			assert.Equalf(t, "", tool(t, at(args...)...).want(t, 1, absent).out, "%v: something on the standard output", args)
		}
		tool(t, at("threshold", "show-9", "5")...).want(t, 1, "if its sale is still to open, add --new")
		if n, err := r.client.Exists(t.Context(), r.prefix+"{show-9}:room").Result(); err != nil || n != 0 {
			t.Errorf("the question made a room: %d, %v", n, err)
		}
		tool(t, at("threshold", "show-9", "--new")...).want(t, 2, "give the number to set")
		tool(t, at("threshold", "show-9", "5", "--new")...).want(t, 0, "show-9: threshold default → 5")
		tool(t, at("threshold", "show-9")...).want(t, 0, "show-9: threshold 5")
		tool(t, at("status", "show-9", "show-1")...).want(t, 0, "show-9: nobody waits or is active there")
		tool(t, at("threshold", "show-1", "6", "--new")...).want(t, 0, "→ 6")
	})
}
