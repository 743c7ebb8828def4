package sqlitebus

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqllog/logsub"
	"github.com/millrace-go/millrace/sqltx"
)

//go:embed sql
var files embed.FS

// statements is the text of the sql folder.
type statements struct {
	topics, topic, ensureTopic, groups, beat, bury, members, leave, browse string
}

func loadStatements() (s statements, err error) {
	for name, into := range map[string]*string{
		"topics": &s.topics, "topic": &s.topic, "ensure_topic": &s.ensureTopic, "groups": &s.groups,
		"beat": &s.beat, "bury": &s.bury, "members": &s.members, "leave": &s.leave, "browse": &s.browse,
	} {
		text, err := fs.ReadFile(files, "sql/"+name+".sql")
		if err != nil {
			return s, fmt.Errorf("sqlitebus: %w", err)
		}
		*into = string(text)
	}
	return s, nil
}

// directoryMigrations is the schema of the tables beside the log.
func directoryMigrations() (migrate.Set, error) {
	schema, err := fs.Sub(files, "sql/schema")
	if err != nil {
		return migrate.Set{}, fmt.Errorf("sqlitebus: %w", err)
	}
	return migrate.Set{Package: "bus", Dialect: migrate.SQLite, FS: schema}, nil
}

// directory is logsub.Directory in the file.
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
		t, err = scanTopic(tx.QueryRowContext(ctx, d.sql.ensureTopic, want.Name, want.Partitions, want.Retention.Microseconds()))
		return err
	})
	return t, err
}

func (d *directory) Topics(ctx context.Context) ([]logsub.Topic, error) {
	rows, err := d.reader.QueryContext(ctx, d.sql.topics)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []logsub.Topic
	for rows.Next() {
		t, err := scanTopic(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

func scanTopic(row interface{ Scan(...any) error }) (t logsub.Topic, err error) {
	var retention int64
	err = row.Scan(&t.Name, &t.FirstLane, &t.Partitions, &retention)
	t.Retention = time.Duration(retention) * time.Microsecond
	return t, err
}

func (d *directory) Groups(ctx context.Context, t logsub.Topic) ([]string, error) {
	return d.strings(ctx, d.sql.groups, t.FirstLane, t.Partitions)
}

func (d *directory) Members(ctx context.Context, topic, group string) ([]string, error) {
	return d.strings(ctx, d.sql.members, topic, group)
}

func (d *directory) strings(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := d.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

func (d *directory) Beat(ctx context.Context, ttl time.Duration, members []logsub.Member) error {
	return sqltx.Do(ctx, d.db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, d.sql.bury); err != nil {
			return err
		}
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
