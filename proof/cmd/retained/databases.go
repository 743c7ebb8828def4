package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

const name = "millrace_retained"

// open opens a database of its own on a server.
func open(ctx context.Context, server string) (*database, error) {
	variable := "MILLRACE_" + strings.ToUpper(server) + "_URL"
	u, err := url.Parse(os.Getenv(variable))
	if err != nil || u.Host == "" {
		return nil, errors.New(variable + " names no server; `make retained` starts it and sets it")
	}
	switch server {
	case "postgres":
		return openPostgres(ctx, u)
	case "mysql", "mariadb":
		return openMySQL(ctx, server, u)
	}
	return nil, fmt.Errorf("there is no database %q here; use postgres, mysql or mariadb", server)
}

// fresh makes the database, on which dial then opens a pool.
func fresh(ctx context.Context, u *url.URL, dial func(string) (*sql.DB, error)) (db *sql.DB, drop func(context.Context) error, err error) {
	admin, err := dial(u.String())
	if err != nil {
		return nil, nil, err
	}
	for _, s := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
		if _, err := admin.ExecContext(ctx, s); err != nil {
			return nil, nil, errors.Join(err, admin.Close())
		}
	}
	own := *u
	own.Path = "/" + name
	db, err = dial(own.String())
	if err != nil {
		return nil, nil, errors.Join(err, admin.Close())
	}
	return db, func(ctx context.Context) error {
		err := db.Close()
		_, derr := admin.ExecContext(ctx, "DROP DATABASE "+name)
		return errors.Join(err, derr, admin.Close())
	}, nil
}

func openPostgres(ctx context.Context, u *url.URL) (*database, error) {
	db, drop, err := fresh(ctx, u, pgdb.Open)
	if err != nil {
		return nil, err
	}
	s, err := pgoutbox.New(db, pgoutbox.Config{})
	if err == nil {
		_, err = db.ExecContext(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`)
	}
	if err != nil {
		return nil, errors.Join(err, drop(ctx))
	}
	exec := func(query string, args ...any) func(context.Context) error {
		return func(ctx context.Context) error { _, err := db.ExecContext(ctx, query, args...); return err }
	}
	return &database{
		title: "PostgreSQL", db: db, store: s, close: drop,
		copies: func(ctx context.Context, id int64, from, count int) error {
			return exec(`INSERT INTO outbox_messages (lane, topic, message_id, message_key, headers, payload, event_type, aggregate_type, aggregate_id)
				SELECT lane, topic, message_id || '#' || n, 'key-' || n % 1000, headers, payload, event_type, aggregate_type, aggregate_id
				FROM outbox_messages, generate_series($2::integer, $3) AS n WHERE lane = 0 AND id = $1 ORDER BY n`, id, from, from+count-1)(ctx)
		},
		forget: exec(`SELECT pg_stat_statements_reset()`),
		spent: func(ctx context.Context) ([]statement, error) {
			return statements(ctx, db, `SELECT query, calls, (mean_exec_time * 1000)::bigint, (max_exec_time * 1000)::bigint,
					(shared_blks_hit + shared_blks_read)::float8 / calls
				FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
					AND query LIKE '%outbox%' ORDER BY mean_exec_time * calls DESC`)
		},
	}, nil
}

func openMySQL(ctx context.Context, server string, u *url.URL) (*database, error) {
	db, drop, err := fresh(ctx, u, mysqldb.Open)
	if err != nil {
		return nil, err
	}
	s, err := mysqloutbox.New(db, mysqloutbox.Config{})
	if err != nil {
		return nil, errors.Join(err, drop(ctx))
	}
	title := "MySQL"
	if server == "mariadb" {
		title = "MariaDB"
	}
	return &database{
		title: title, db: db, store: s, close: drop,
		// INSERT … SELECT would take more ids than it has rows.
		copies: func(ctx context.Context, id int64, from, count int) error {
			conn, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer conn.Close() //nolint:errcheck // back to the pool
			if _, err := conn.ExecContext(ctx, `SELECT lane, topic, message_id, headers, payload, event_type, aggregate_type, aggregate_id
				INTO @lane, @topic, @id, @headers, @payload, @type, @kind, @of FROM outbox_messages WHERE id = ?`, id); err != nil {
				return err
			}
			var text strings.Builder
			text.WriteString(`INSERT INTO outbox_messages (lane, topic, message_id, message_key, headers, payload, event_type, aggregate_type, aggregate_id) VALUES `)
			for n := from; n < from+count; n++ {
				if n > from {
					text.WriteByte(',')
				}
				fmt.Fprintf(&text, `(@lane, @topic, CONCAT(@id, '#%d'), 'key-%d', @headers, @payload, @type, @kind, @of)`, n, n%keys)
			}
			_, err = conn.ExecContext(ctx, text.String())
			return err
		},
		forget: func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, `TRUNCATE performance_schema.events_statements_summary_by_digest`)
			return err
		},
		spent: func(ctx context.Context) ([]statement, error) {
			return statements(ctx, db, `SELECT DIGEST_TEXT, COUNT_STAR, AVG_TIMER_WAIT DIV 1000000, MAX_TIMER_WAIT DIV 1000000, SUM_ROWS_EXAMINED / COUNT_STAR
				FROM performance_schema.events_statements_summary_by_digest
				WHERE SCHEMA_NAME = DATABASE() AND DIGEST_TEXT LIKE '%outbox%' ORDER BY SUM_TIMER_WAIT DESC`)
		},
	}, nil
}

// statements reads rows of text, calls, mean and greatest microseconds, and rows read.
func statements(ctx context.Context, db *sql.DB, query string) (all []statement, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s statement
		var mean, longest int64
		if err := rows.Scan(&s.text, &s.calls, &mean, &longest, &s.read); err != nil {
			return nil, err
		}
		s.mean, s.max = time.Duration(mean)*time.Microsecond, time.Duration(longest)*time.Microsecond
		s.text = shortened(s.text)
		all = append(all, s)
	}
	return all, rows.Err()
}

// shortened is the distinctive beginning of a statement, without its comments.
func shortened(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	text = strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	if len(text) > 110 {
		text = text[:110] + "…"
	}
	return text
}
