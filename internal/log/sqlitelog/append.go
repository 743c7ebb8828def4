package sqlitelog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/sqltx"
)

// maxVariables is SQLite's limit of bound values per statement.
const maxVariables = 32766

// Append writes the entries in one statement inside x, in the order given. If there are more
// than SQLite can bind to one statement (5,461 entries without labels), it uses several, still
// inside x.
func (l *Log) Append(ctx context.Context, x sqltx.Execer, entries []log.Entry) error {
	for i, e := range entries {
		if len(e.Labels) != len(l.tables.Labels) {
			return fmt.Errorf("sqlitelog: append: entry %d has %d labels, the log has %d", i, len(e.Labels), len(l.tables.Labels))
		}
	}
	for some := range slices.Chunk(entries, maxVariables/l.tables.Columns()) {
		if _, err := x.ExecContext(ctx, l.sql.append+strings.Repeat(l.sql.row, len(some)-1), l.tables.Values(some...)...); err != nil {
			return fmt.Errorf("sqlitelog: append: %w", err)
		}
	}
	return nil
}
