package logbus

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/sqltx"
)

// statements has the texts of the transport's sql folder.
type statements struct {
	topics, topic, lockTopics, ensureTopic, groups string
	beat, bury, members, leave                     string
	start, started, alone, progress, stopped       string
	position, browse, browseNew                    string
	forget, forgetStarts                           string
}

func loadStatements(files fs.FS) (s statements, err error) {
	for name, into := range map[string]*string{
		"topics": &s.topics, "topic": &s.topic, "ensure_topic": &s.ensureTopic, "groups": &s.groups,
		"beat": &s.beat, "bury": &s.bury, "members": &s.members, "leave": &s.leave,
		"start": &s.start, "started": &s.started, "alone": &s.alone, "progress": &s.progress, "stopped": &s.stopped, "browse": &s.browse,
		"position": &s.position, "lock_topics": &s.lockTopics, "browse_new": &s.browseNew,
		"forget": &s.forget, "forget_starts": &s.forgetStarts,
	} {
		text, err := fs.ReadFile(files, "sql/"+name+".sql")
		if errors.Is(err, fs.ErrNotExist) && (into == &s.lockTopics || into == &s.browseNew) {
			continue
		}
		if err != nil {
			return s, err
		}
		*into = string(text)
	}
	return s, nil
}

// directory implements logsub.Directory in tables beside the log.
type directory struct {
	db, reader *sql.DB
	sql        statements
}

func (d *directory) Ensure(ctx context.Context, want logsub.Topic) (logsub.Topic, error) {
	t, err := scanTopic(d.reader.QueryRowContext(ctx, d.sql.topic, want.Name))
	if err == nil && (want.Retention == 0 || want.Retention == t.Retention) {
		return t, nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, err
	}
	err = sqltx.Do(ctx, d.db, func(ctx context.Context, tx *sql.Tx) (err error) {
		if d.sql.lockTopics != "" {
			if _, err := tx.ExecContext(ctx, d.sql.lockTopics); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, d.sql.ensureTopic, want.Name, want.Partitions, want.Retention.Microseconds()); err != nil {
			return err
		}
		t, err = scanTopic(tx.QueryRowContext(ctx, d.sql.topic, want.Name))
		return err
	})
	return t, err
}

func (d *directory) Topics(ctx context.Context) ([]logsub.Topic, error) {
	return sqlrows.All(ctx, d.reader, func(rows *sql.Rows) (logsub.Topic, error) { return scanTopic(rows) }, d.sql.topics)
}

func scanTopic(row interface{ Scan(...any) error }) (t logsub.Topic, err error) {
	var retention int64
	err = row.Scan(&t.Name, &t.FirstLane, &t.Partitions, &retention)
	t.Retention = time.Duration(retention) * time.Microsecond
	return t, err
}

func (d *directory) Groups(ctx context.Context, t logsub.Topic) ([]string, error) {
	return sqlrows.Column[string](ctx, d.reader, d.sql.groups, t.FirstLane, t.FirstLane+t.Partitions, t.Partitions)
}

func (d *directory) Members(ctx context.Context, topic, group string) ([]string, error) {
	return sqlrows.Column[string](ctx, d.reader, d.sql.members, topic, group)
}

func (d *directory) Beat(ctx context.Context, ttl time.Duration, members []logsub.Member) error {
	// Separately: a row that another process also removes must not delay this process's members.
	if _, err := d.db.ExecContext(ctx, d.sql.bury); err != nil {
		return err
	}
	return sqltx.Do(ctx, d.db, func(ctx context.Context, tx *sql.Tx) error {
		for _, m := range members {
			if _, err := tx.ExecContext(ctx, d.sql.beat, m.Topic, m.Group, m.ID, ttl.Microseconds()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *directory) Leave(ctx context.Context, m logsub.Member) error {
	_, err := d.db.ExecContext(ctx, d.sql.leave, m.Topic, m.Group, m.ID)
	return err
}

func (d *directory) Started(ctx context.Context, cursors []log.Cursor) (starts []logsub.Start, err error) {
	err = sqltx.Do(ctx, d.db, func(ctx context.Context, tx *sql.Tx) error {
		starts = make([]logsub.Start, len(cursors))
		for i, c := range cursors {
			if _, err := tx.ExecContext(ctx, d.sql.start, c.Consumer, c.Lane); err != nil {
				return err
			}
			s := &starts[i]
			if err := tx.QueryRowContext(ctx, d.sql.started, c.Consumer, c.Lane).Scan(&s.Starts, &s.Message, &s.Times, &s.Done); err != nil {
				return err
			}
		}
		return nil
	})
	return starts, err
}

func (d *directory) Alone(ctx context.Context, c log.Cursor, message string, times int) error {
	_, err := sqllog.Joined(ctx, d.db).ExecContext(ctx, d.sql.alone, message, times, c.Consumer, c.Lane)
	return err
}

func (d *directory) Progress(ctx context.Context, cursors []log.Cursor) error {
	return sqltx.Do(ctx, d.db, func(ctx context.Context, tx *sql.Tx) error {
		for _, c := range cursors {
			if _, err := tx.ExecContext(ctx, d.sql.progress, c.Consumer, c.Lane); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *directory) Stopped(ctx context.Context, c log.Cursor, done string) error {
	return sqltx.Do(ctx, d.db, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, d.sql.stopped, done, c.Consumer, c.Lane)
		return err
	})
}

// newest implements Newest of [logsub.Parts].
func (d *directory) newest(ctx context.Context, lane, limit int) (all []log.Entry, err error) {
	for _, query := range []string{d.sql.browse, d.sql.browseNew} {
		if query == "" {
			continue
		}
		some, err := sqlrows.All(ctx, d.reader, func(rows *sql.Rows) (e log.Entry, err error) {
			err = rows.Scan(&e.ID, &e.MessageID, &e.Headers, &e.Payload)
			return e, err
		}, query, lane, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
