package pglog

import "fmt"

// Statements are texts for a messages table with columns of its own. Each takes
// the parameters of the file of its name in sql/ and returns that file's
// columns, in their order.
type Statements struct {
	Append, AppendOne, OpenWindow, ReadWindow, Ahead, Prune, PruneLate, AdoptCheck, Adopt string
}

// With returns the log with other texts for the given statements. If the tables' other columns
// differ from a log's, only Append, Read, Prune, Adopt, Notify and Listen can be used.
func (l *Log) With(s Statements) (*Log, error) {
	other := &Log{db: l.db, tables: l.tables, sql: l.sql}
	other.sql.append, other.sql.appendOne, other.sql.ahead = s.Append, s.AppendOne, s.Ahead
	other.sql.prune, other.sql.pruneLate = s.Prune, s.PruneLate
	other.sql.adoptCheck, other.sql.adopt = s.AdoptCheck, s.Adopt
	for _, v := range []struct {
		text string
		to   *variants
	}{{s.OpenWindow, &other.sql.openWindow}, {s.ReadWindow, &other.sql.readWindow}} {
		for full, to := range map[bool]*string{false: &v.to.plain, true: &v.to.full} {
			var err error
			if *to, err = files(full).Text(l.tables, v.text); err != nil {
				return nil, fmt.Errorf("pglog: %w", err)
			}
		}
	}
	return other, nil
}

// variants are two texts of one statement. The plain one is planned faster, and works for
// windows without transactions that were running.
type variants struct{ plain, full string }

// with selects the text for a window, and adds the arguments of the full one.
func (v variants) with(args []any, w *window) (string, []any) {
	if w.since.running == none && w.floor != unknown {
		return v.plain, args
	}
	return v.full, append(args, w.since.running)
}
