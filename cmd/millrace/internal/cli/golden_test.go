package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

// Output for programs stays as it is, and so do the tables.
func TestGolden(t *testing.T) {
	t.Parallel()
	p := place{name: "sqlite", url: "sqlite://" + filepath.Join(t.TempDir(), "app.db")}
	db := p.open(t)
	golden := func(name string, code int, line string) {
		t.Helper()
		cli.Golden(t, name, strings.ReplaceAll(tool(t, append(strings.Fields(line), "--db", p.url)...).want(t, code).out, strings.TrimSuffix(p.url, "/app.db"), "sqlite:///var/lib/shop"))
	}
	golden("migrate-up.json", 0, "migrate up --package outbox,bus --json")
	golden("migrate-up.txt", 0, "migrate up --package outbox,leases")
	golden("migrate-status.json", 0, "migrate status --package outbox,counter --json")
	golden("migrate-status.txt", 0, "migrate status --package outbox,counter")
	b := p.store(t, db, "cursor")
	golden("outbox-failed-none.json", 0, "outbox failed --json")
	park(t, db, b, 2)
	golden("outbox-status.json", 0, "outbox status --json")
	golden("outbox-status.txt", 0, "outbox status")
	golden("outbox-failed.json", 0, "outbox failed --limit 1 --json")
	golden("outbox-retry.json", 1, "outbox retry 1 999999 --json")
	golden("outbox-rebase.json", 0, "outbox rebase --since 1h --yes --json")
	golden("doctor.json", 0, "doctor --package outbox --json")
}

func TestGoldenLetters(t *testing.T) {
	t.Parallel()
	_, rawURL, ids := graves(t, 1)
	golden := func(name string, code int, args ...string) {
		t.Helper()
		cli.Golden(t, name, tool(t, append(append([]string{"dlq"}, args...), "--bus", rawURL)...).want(t, code).out)
	}
	golden("dlq-list.txt", 0, "list", "orders.DLT")
	golden("dlq-list.json", 0, "list", "orders.DLT", "--json")
	golden("dlq-list-none.json", 0, "list", "orders.DLT", "--reason", "none", "--json")
	golden("dlq-show.json", 0, "show", "orders.DLT", ids[0], "--json")
	golden("dlq-redrive.json", 1, "redrive", "orders.DLT", ids[0], "nobody", "--dry-run", "--json")
	golden("dlq-drop.json", 0, "drop", "orders.DLT", "--all", "--dry-run", "--json")
	shown := read[struct{ Payload string }](t, tool(t, "dlq", "show", "orders.DLT", ids[0], "--json", "--bus", rawURL))
	edited := toolWith(t.Context(), cli.Streams{In: strings.NewReader(shown.Payload + " ")},
		"dlq", "edit", "orders.DLT", ids[0], "--payload", "-", "--json", "--bus", rawURL).want(t, 0)
	cli.Golden(t, "dlq-edit.json", edited.out)
}

func TestGoldenGroups(t *testing.T) {
	t.Parallel()
	h := written(t, transports["sqlite"](t, "orders"), "orders", group, 3)
	golden := func(name, line string) {
		t.Helper()
		cli.Golden(t, name, tool(t, append(strings.Fields(line), "--bus", h.rawURL)...).want(t, 0).out)
	}
	golden("group-list.txt", "group list")
	golden("group-list.json", "group list --json")
	golden("group-reset.json", "group reset --topic orders --group billing --to latest --yes --json")
	golden("group-reset.txt", "group reset --topic orders --group billing --to earliest --dry-run")
	golden("replay.json", "replay --topic orders --group billing --since 1h --yes --again --json --keys "+h.keys)
	golden("replay.txt", "replay --topic orders --group billing --since 1h --dry-run --keys "+h.keys)
	golden("group-delete.json", "group delete --topic orders --group billing --yes --json")
	golden("group-list-none.json", "group list --json")
}
