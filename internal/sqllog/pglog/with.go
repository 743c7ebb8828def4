package pglog

// Statements are texts for a messages table with columns of its own. Each takes
// the parameters of the file of its name in sql/ and returns that file's
// columns, in their order.
type Statements struct {
	Append, AppendOne, OpenWindow, ReadWindow string
}

// With returns the log with other texts for the given statements. Where the
// tables' other columns differ from a log's, only Append, Read, Notify and
// Listen are of use.
func (l *Log) With(s Statements) *Log {
	other := &Log{db: l.db, tables: l.tables, sql: l.sql}
	other.sql.append, other.sql.appendOne = s.Append, s.AppendOne
	other.sql.openWindow, other.sql.readWindow = s.OpenWindow, s.ReadWindow
	return other
}
