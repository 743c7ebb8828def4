package pglog

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// Append writes the entries in one statement inside x, in the order given.
func (l *Log) Append(ctx context.Context, x sqltx.Execer, entries []sqllog.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	n := len(entries)
	lanes, payloads := make([]int32, n), make([][]byte, n)
	texts := make([][]string, 4+len(l.tables.Labels)) // topic, message id, key, headers, labels…
	for i := range texts {
		texts[i] = make([]string, n)
	}
	for i, e := range entries {
		if len(e.Labels) != len(l.tables.Labels) {
			return fmt.Errorf("pglog: append: entry %d has %d labels, the log has %d", i, len(e.Labels), len(l.tables.Labels))
		}
		lanes[i], payloads[i] = int32(e.Lane), e.Payload
		if e.Payload == nil {
			payloads[i] = []byte{}
		}
		texts[0][i], texts[1][i], texts[2][i], texts[3][i] = e.Topic, e.MessageID, e.Key, e.Headers
		for j, label := range e.Labels {
			texts[4+j][i] = label
		}
	}
	args := []any{lanes, texts[0], texts[1], texts[2], texts[3], payloads}
	for _, labels := range texts[4:] {
		args = append(args, labels)
	}
	if _, err := x.ExecContext(ctx, l.sql.append, args...); err != nil {
		return fmt.Errorf("pglog: append: %w", err)
	}
	return nil
}
