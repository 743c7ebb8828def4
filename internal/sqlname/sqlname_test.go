package sqlname_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/sqlname"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1 FROM outbox_events":                               "SELECT 1 FROM app.shop_events",
		"CREATE INDEX outbox_events_xid ON outbox_events (xid)":     "CREATE INDEX shop_events_xid ON app.shop_events (xid)",
		"CREATE INDEX IF NOT EXISTS outbox_a ON outbox_events (a)":  "CREATE INDEX IF NOT EXISTS shop_a ON app.shop_events (a)",
		"INDEX outbox_retries_key (shard)":                          "INDEX shop_retries_key (shard)",
		"DROP INDEX outbox_events_xid":                              "DROP INDEX app.shop_events_xid",
		"FROM outbox_events AS e FORCE INDEX (outbox_events_state)": "FROM app.shop_events AS e FORCE INDEX (shop_events_state)",
		"outbox_events INDEXED BY outbox_events_failed":             "app.shop_events INDEXED BY shop_events_failed",
		"nextval('outbox_events_ids')":                              "nextval('app.shop_events_ids')",
		"SET shard = outbox_failed.shard":                           "SET shard = app.shop_failed.shard",
		"ON DUPLICATE KEY UPDATE shard = outbox_failed.shard":       "ON DUPLICATE KEY UPDATE shard = app.shop_failed.shard",
		"table_schema = DATABASE() AND table_name = 'outbox_a'":     "table_schema = 'app' AND table_name = 'shop_a'",
		"millrace_outbox_version":                                   "millrace_outbox_version",
		"the outbox is empty":                                       "the outbox is empty",
	} {
		if got := (sqlname.Names{Schema: "app", Prefix: "shop"}).Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got := (sqlname.Names{}).Text(text); got != text {
			t.Errorf("with the default names %q becomes %q", text, got)
		}
	}
}

// A prefix that is also the beginning of columns changes no column.
func TestPrefixLikeAColumn(t *testing.T) {
	n := sqlname.Names{Prefix: "lease"}
	if got, want := n.Text("UPDATE outbox_cursors SET lease_token = 1"), "UPDATE lease_cursors SET lease_token = 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestQualify(t *testing.T) {
	got := sqlname.Qualify("INSERT INTO a_cursors_progress SELECT n FROM a_cursors JOIN a_messages ON a_messages.id = n", "app", "a_messages", "a_cursors")
	want := "INSERT INTO app.a_cursors_progress SELECT n FROM app.a_cursors JOIN app.a_messages ON app.a_messages.id = n"
	assert.Equal(t, want, got)
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("a", 25)
	for _, n := range []sqlname.Names{{}, {Schema: "app", Prefix: "shop_a1"}, {Prefix: long[:24]}} {
		assert.NoErrorf(t, n.Validate("Config.Schema", "Config.Prefix"), "%+v", n)
	}
	for field, n := range map[string]sqlname.Names{
		"Config.Schema": {Schema: `a"; DROP`}, "Config.Schema is": {Schema: "App"},
		"Config.Prefix": {Prefix: "a.b"}, "Config.Prefix is": {Prefix: long},
	} {
		if err := n.Validate("Config.Schema", "Config.Prefix"); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v, want an error that names %s", n, err, field)
		}
	}
}
