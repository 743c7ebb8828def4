package mysqlbus

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"

	"github.com/millrace-go/millrace/internal/txbus"
)

// passSize bounds how many messages get their positions in one transaction.
const passSize = 500

// joinTimeout is how long a group's row is waited for before looking again.
const joinTimeout = time.Second

// quoted are the tables of a topic as they stand in SQL text. A topic's name
// holds no quotes; package txbus has checked it.
func messages(topic string) string { return "`" + txbus.MessagesTable(topic) + "`" }
func offsets(topic string) string  { return "`" + txbus.OffsetsTable(topic) + "`" }

// schema is Watermill SQL's schema for MySQL with a payload of any bytes and a
// column more, which Watermill SQL's own publishers and subscribers do not
// notice: the position of a message. Ids are handed out before transactions
// commit, so a reader that asks for the ids after the last one skips what
// commits late; positions are given to what has committed.
type schema struct{ wmsql.DefaultMySQLSchema }

func newSchema() schema {
	return schema{wmsql.DefaultMySQLSchema{
		GenerateMessagesTableName: messages,
		GeneratePayloadType:       func(string) string { return "LONGBLOB" },
	}}
}

func (s schema) SelectQuery(topic, group string, o wmsql.OffsetsAdapter) wmsql.Query {
	next := o.NextOffsetQuery(topic, group)
	return wmsql.Query{Args: next.Args, Query: "SELECT `position`, `uuid`, `payload`, `metadata` FROM " + s.MessagesTable(topic) +
		" FORCE INDEX (`position`) WHERE `position` > (" + next.Query + ") ORDER BY `position` LIMIT 1"}
}

// SubscribeIsolationLevel is the handler's as well, so it is the pool's own.
// Positions become visible in their order at any level.
func (schema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelDefault }

// offsetsAdapter is Watermill SQL's, except that an instance whose group is at
// work elsewhere does not keep a connection waiting for it.
type offsetsAdapter struct {
	wmsql.DefaultMySQLOffsetsAdapter
}

func newOffsets() offsetsAdapter {
	return offsetsAdapter{wmsql.DefaultMySQLOffsetsAdapter{GenerateMessagesOffsetsTableName: offsets}}
}

func (a offsetsAdapter) NextOffsetQuery(topic, group string) wmsql.Query {
	return wmsql.Query{
		Query: "SELECT offset_acked FROM " + a.MessagesOffsetsTable(topic) + " WHERE consumer_group = ? FOR UPDATE SKIP LOCKED",
		Args:  []any{group},
	}
}

// ConsumedMessageQuery is none: nobody else has the group's row.
func (offsetsAdapter) ConsumedMessageQuery(string, wmsql.Row, string, []byte) wmsql.Query {
	return wmsql.Query{}
}

// watermillSQL is txbus.Dialect.
type watermillSQL struct{}

func (watermillSQL) Schema() wmsql.SchemaAdapter   { return newSchema() }
func (watermillSQL) Offsets() wmsql.OffsetsAdapter { return newOffsets() }

func (watermillSQL) Check(ctx context.Context, db *sql.DB) error {
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("mysqlbus: %w", err)
	}
	if _, err := db.ExecContext(ctx, `SELECT 1 FROM (SELECT 1 AS one) AS t FOR UPDATE SKIP LOCKED`); err != nil {
		return fmt.Errorf("mysqlbus: mode=tx needs SKIP LOCKED (MySQL 8.0, MariaDB 10.6): %w", err)
	}
	return nil
}

// Same compares by a lock of the server, whose name was just made up, so that
// nobody else holds it.
func (watermillSQL) Same(ctx context.Context, a, b *sql.DB) (same bool, err error) {
	conn, err := a.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	name := "millrace-" + rand.Text()
	var here, there string
	var got, free int
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 1), DATABASE()`, name).Scan(&got, &here); err != nil {
		return false, err
	}
	err = b.QueryRowContext(ctx, `SELECT IS_FREE_LOCK(?), COALESCE(DATABASE(), '')`, name).Scan(&free, &there)
	if _, released := conn.ExecContext(context.WithoutCancel(ctx), `DO RELEASE_LOCK(?)`, name); released != nil {
		return false, released
	}
	return free == 0 && here == there, err
}

func (watermillSQL) Prepare(ctx context.Context, db *sql.DB, topic string) error {
	statements := []string{
		`CREATE TABLE IF NOT EXISTS wm_positions (topic VARBINARY(64) NOT NULL PRIMARY KEY, last_position BIGINT NOT NULL) ENGINE = InnoDB`,
	}
	for _, q := range slices.Concat(newSchema().SchemaInitializingQueries(topic), newOffsets().SchemaInitializingQueries(topic)) {
		statements = append(statements, q.Query)
	}
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	var has int
	const column = `SELECT COUNT(*) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name = ? AND column_name = 'position'`
	if err := db.QueryRowContext(ctx, column, txbus.MessagesTable(topic)).Scan(&has); err != nil {
		return err
	}
	if has == 0 {
		add := "ALTER TABLE " + messages(topic) + " ADD COLUMN `position` BIGINT NULL, ADD INDEX `position` (`position`)"
		if _, err := db.ExecContext(ctx, add); err != nil && !isThere(err) {
			return err
		}
	}
	_, err := db.ExecContext(ctx, `INSERT IGNORE INTO wm_positions VALUES (?, 0)`, topic)
	return err
}

// Join looks before it inserts: an insert waits for the group's row while a
// message of the group is out, which can be for ever. Between the two a row can
// appear and be locked; so the insert waits for a moment only.
func (watermillSQL) Join(ctx context.Context, db *sql.DB, topic, group string) error {
	for {
		var n int
		err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+offsets(topic)+" WHERE consumer_group = ?", group).Scan(&n)
		if err != nil || n > 0 {
			return err
		}
		moment, cancel := context.WithTimeout(ctx, joinTimeout)
		_, err = db.ExecContext(moment, "INSERT IGNORE INTO "+offsets(topic)+" (consumer_group, offset_acked, offset_consumed) VALUES (?, 0, 0)", group)
		cancel()
		if err == nil || moment.Err() == nil || ctx.Err() != nil {
			return err
		}
	}
}

// Arrange gives positions to what has committed since, in the order of ids: an
// id is taken after the locks that a transaction took before it appended, so
// that is the order of commits for whoever appends behind a lock.
func (w watermillSQL) Arrange(ctx context.Context, db *sql.DB, topic string) (n int, err error) {
	// Most of the time there is nothing, and no lock to be taken.
	if ids, err := w.fresh(ctx, db, topic); err != nil || len(ids) == 0 {
		return 0, err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // the error that matters is returned
	var last int64
	switch err := tx.QueryRowContext(ctx, `SELECT last_position FROM wm_positions WHERE topic = ? FOR UPDATE SKIP LOCKED`, topic).Scan(&last); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil // somebody else is at it
	case err != nil:
		return 0, err
	}
	// Under the lock, and in a new view of the data: what the one before has
	// numbered is gone from it, and nothing that has committed is missing.
	ids, err := w.fresh(ctx, tx, topic)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	list := strings.Join(ids, ",")
	_, err = tx.ExecContext(ctx, "UPDATE "+messages(topic)+" FORCE INDEX (PRIMARY) SET `position` = ? + FIND_IN_SET(`offset`, '"+list+"')"+
		" WHERE `offset` IN ("+list+")", last)
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE wm_positions SET last_position = ? WHERE topic = ?`, last+int64(len(ids)), topic)
	}
	if err == nil {
		err = tx.Commit()
	}
	return len(ids), err
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// fresh returns the ids of committed messages without a position.
func (watermillSQL) fresh(ctx context.Context, q querier, topic string) ([]string, error) {
	rows, err := q.QueryContext(ctx, "SELECT `offset` FROM "+messages(topic)+" FORCE INDEX (`position`)"+
		" WHERE `position` IS NULL ORDER BY `offset` LIMIT "+strconv.Itoa(passSize))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	return ids, rows.Err()
}
