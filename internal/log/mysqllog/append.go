package mysqllog

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/sqltx"
)

const (
	// maxVariables is the server's limit of bound values per statement.
	maxVariables = 65535
	// The columns' widths in characters; keys and labels are aggregates' ids.
	maxName = 255
	maxKey  = 1000
)

// Append writes the entries in one statement inside x, those of a lane in the order given. One
// statement takes up to 65,535 values: 10,922 entries without labels, 7,281 with three. Each
// value must be smaller than the server's max_allowed_packet (16 MiB by default).
func (l *Log) Append(ctx context.Context, x sqltx.Execer, entries []log.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if most := maxVariables / l.tables.Columns(); len(entries) > most {
		return fault.MarkPermanent(fmt.Errorf("mysqllog: append: %d entries do not fit one statement; append at most %d at a time", len(entries), most))
	}
	for i := range entries {
		if err := l.check(&entries[i]); err != nil {
			return fault.MarkPermanent(fmt.Errorf("mysqllog: append: message %q: %w", entries[i].MessageID, err))
		}
	}
	entries = log.ByLane(entries)
	if _, err := x.ExecContext(ctx, l.sql.append+strings.Repeat(l.sql.row, len(entries)-1), l.tables.Values(entries...)...); err != nil {
		return fmt.Errorf("mysqllog: append: %w", err)
	}
	return nil
}

// check refuses values that a server without strict mode would truncate.
func (l *Log) check(e *log.Entry) error {
	if len(e.Labels) != len(l.tables.Labels) {
		return fmt.Errorf("it has %d labels, the log has %d", len(e.Labels), len(l.tables.Labels))
	}
	for i, text := range e.Labels {
		if err := fits(l.tables.Labels[i], text, maxKey); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		name, text string
		most       int
	}{{"topic", e.Topic, maxName}, {"message id", e.MessageID, maxName}, {"key", e.Key, maxKey}} {
		if err := fits(c.name, c.text, c.most); err != nil {
			return err
		}
	}
	return nil
}

func fits(name, text string, most int) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("its %s is no valid UTF-8", name)
	}
	if len(text) > most && utf8.RuneCountInString(text) > most {
		return fmt.Errorf("its %s has %d characters, at most %d fit", name, utf8.RuneCountInString(text), most)
	}
	return nil
}
