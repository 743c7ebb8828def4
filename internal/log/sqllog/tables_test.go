package sqllog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/hostiletest"
	"github.com/millrace-go/millrace/internal/log/sqllog"
)

// Every name in SQL text is plain, or is refused with the name of its field.
func TestHostileTables(t *testing.T) {
	good := sqllog.Tables{Messages: "outbox_messages", Cursors: "outbox_cursors", Package: "outbox", Labels: []string{"event_type"}}
	require.NoError(t, good.Validate())
	for _, name := range hostiletest.SQL() {
		for field, tables := range map[string]sqllog.Tables{
			"Messages":  {Messages: name, Cursors: good.Cursors, Package: good.Package},
			"Cursors":   {Messages: good.Messages, Cursors: name, Package: good.Package},
			"Package":   {Messages: good.Messages, Cursors: good.Cursors, Package: name},
			"Labels[0]": {Messages: good.Messages, Cursors: good.Cursors, Package: good.Package, Labels: []string{name}},
		} {
			if err := tables.Validate(); err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s %q: %v", field, name, err)
			}
		}
	}
}
