package mysqlbus

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/internal/txbus"
)

// passSize bounds how many messages get their positions in one transaction.
const passSize = 500

// joinTimeout is how long Join waits for a group's row before it looks again.
const joinTimeout = time.Second

// messages and offsets return the quoted table names of a topic. A topic's name has no quotes;
// package txbus has checked it.
func messages(topic string) string { return "`" + txbus.MessagesTable(topic) + "`" }
func offsets(topic string) string  { return "`" + txbus.OffsetsTable(topic) + "`" }

// schema is Watermill SQL's schema for MySQL with a payload of any bytes and an additional
// column that Watermill SQL's own publishers and subscribers ignore: the position of a message.
// Ids are assigned before transactions commit, so a reader that asks for the ids after the last
// one skips late commits; positions are given to committed messages.
type schema struct {
	wmsql.DefaultMySQLSchema
	watermillSQL
}

// SelectQuery reads no further than an earlier statement has seen. A MariaDB snapshot can show a
// transaction and hide one that committed before it; the next snapshot shows both.
func (s schema) SelectQuery(topic, group string, o wmsql.OffsetsAdapter) wmsql.Query {
	next := o.NextOffsetQuery(topic, group)
	return wmsql.Query{
		Query: "SELECT `position`, `uuid`, `payload`, `metadata` FROM " + s.MessagesTable(topic) +
			" FORCE INDEX (`position`) WHERE `position` > (" + next.Query + ") AND `position` <= ? ORDER BY `position` LIMIT 1",
		Args: append(slices.Clone(next.Args), s.last(topic)),
	}
}

// last returns the last known position of a topic.
func (w watermillSQL) last(topic string) int64 {
	v, _ := w.known.Load(topic)
	n, _ := v.(int64)
	return n
}

// SubscribeIsolationLevel also applies to the handler, so it is the pool's own. Positions become
// visible in order at any level.
func (schema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelDefault }

// offsetsAdapter is Watermill SQL's, except that an instance whose group is at work elsewhere
// does not hold a connection while it waits.
type offsetsAdapter struct {
	wmsql.DefaultMySQLOffsetsAdapter
}

func newOffsets() offsetsAdapter {
	return offsetsAdapter{wmsql.DefaultMySQLOffsetsAdapter{GenerateMessagesOffsetsTableName: offsets}}
}

// SchemaInitializingQueries keeps groups as bytes: collations take names for the same that differ
// in case, accents or spaces at the end.
func (a offsetsAdapter) SchemaInitializingQueries(topic string) []wmsql.Query {
	return []wmsql.Query{{Query: "CREATE TABLE IF NOT EXISTS " + a.MessagesOffsetsTable(topic) +
		" (consumer_group VARBINARY(255) NOT NULL PRIMARY KEY, offset_acked BIGINT, offset_consumed BIGINT NOT NULL)"}}
}

func (a offsetsAdapter) NextOffsetQuery(topic, group string) wmsql.Query {
	return wmsql.Query{
		Query: "SELECT offset_acked FROM " + a.MessagesOffsetsTable(topic) + " WHERE consumer_group = ? FOR UPDATE SKIP LOCKED",
		Args:  []any{group},
	}
}

// ConsumedMessageQuery returns none: no other session has the group's row.
func (offsetsAdapter) ConsumedMessageQuery(string, wmsql.Row, string, []byte) wmsql.Query {
	return wmsql.Query{}
}

// watermillSQL implements txbus.Dialect.
type watermillSQL struct {
	known   *sync.Map // topic → the last position that a statement has seen
	textual *sync.Map // topics whose payload is JSON, in a table that Watermill SQL made
}

func newWatermillSQL() watermillSQL { return watermillSQL{new(sync.Map), new(sync.Map)} }

func (w watermillSQL) Schema() wmsql.SchemaAdapter {
	return schema{wmsql.DefaultMySQLSchema{
		GenerateMessagesTableName: messages,
		GeneratePayloadType:       func(string) string { return "LONGBLOB" },
	}, w}
}
func (watermillSQL) Offsets() wmsql.OffsetsAdapter { return newOffsets() }

func (watermillSQL) Check(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, `SELECT 1 FROM (SELECT 1 AS one) AS t FOR UPDATE SKIP LOCKED`); err != nil {
		return fmt.Errorf("mysqlbus: mode=tx needs SKIP LOCKED (MySQL 8.0, MariaDB 10.6): %w", err)
	}
	return nil
}

func (w watermillSQL) Prepare(ctx context.Context, db *sql.DB, topic string) error {
	statements := []string{
		`CREATE TABLE IF NOT EXISTS wm_positions (topic VARBINARY(64) NOT NULL PRIMARY KEY, last_position BIGINT NOT NULL) ENGINE = InnoDB`,
	}
	for _, q := range slices.Concat(w.Schema().SchemaInitializingQueries(topic), newOffsets().SchemaInitializingQueries(topic)) {
		statements = append(statements, q.Query)
	}
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	var has, textual bool
	const columns = `SELECT COALESCE(MAX(column_name = 'position'), 0), COALESCE(MAX(column_name = 'payload' AND data_type = 'json'), 0)
		FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?`
	if err := db.QueryRowContext(ctx, columns, txbus.MessagesTable(topic)).Scan(&has, &textual); err != nil {
		return err
	}
	if textual {
		w.textual.Store(topic, true)
	}
	if !has {
		add := "ALTER TABLE " + messages(topic) + " ADD COLUMN `position` BIGINT NULL, ADD INDEX `position` (`position`)"
		if _, err := db.ExecContext(ctx, add); err != nil && !isThere(err) {
			return err
		}
	}
	_, err := db.ExecContext(ctx, `INSERT IGNORE INTO wm_positions VALUES (?, 0)`, topic)
	return err
}

// Join reads before it inserts: an insert waits for the group's row while a message of the group
// is out, which can be for ever. A row can appear and be locked between the two, so the insert
// waits only for a moment.
func (watermillSQL) Join(ctx context.Context, db *sql.DB, topic, group string) error {
	for {
		var joined string
		err := db.QueryRowContext(ctx, "SELECT consumer_group FROM "+offsets(topic)+" WHERE consumer_group = ?", group).Scan(&joined)
		switch {
		case err == nil && joined != group: // in a table of an earlier release
			return fault.MarkPermanent(fmt.Errorf("the table takes the group %q for %q, whose messages it would take; "+
				"stop the topic's groups and run ALTER TABLE %s MODIFY consumer_group VARBINARY(255) NOT NULL", group, joined, offsets(topic)))
		case !errors.Is(err, sql.ErrNoRows):
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

// Arrange gives positions to newly committed messages, in the order of ids. A transaction takes
// its id after the locks it took before publishing, so for publishers behind a lock that is the
// order of commits. Positions given by other processes count as news too.
func (w watermillSQL) Arrange(ctx context.Context, db *sql.DB, topic string) (int, error) {
	var given int64
	var fresh bool
	// Usually there are no new messages, and no lock is needed.
	err := db.QueryRowContext(ctx, "SELECT last_position, EXISTS (SELECT 1 FROM "+messages(topic)+
		" FORCE INDEX (`position`) WHERE `position` IS NULL) FROM wm_positions WHERE topic = ?", topic).Scan(&given, &fresh)
	if err != nil {
		return 0, err
	}
	news := int(given - w.last(topic))
	if fresh {
		n, to, err := w.pass(ctx, db, topic)
		if err != nil {
			return 0, err
		}
		news, given = news+n, max(given, to)
	}
	w.learn(topic, given)
	return max(news, 0), nil
}

// learn advances the known position of a topic, never back: of two concurrent readers, the one
// with the older view may report last.
func (w watermillSQL) learn(topic string, given int64) {
	for {
		was, loaded := w.known.LoadOrStore(topic, given)
		if n, _ := was.(int64); !loaded || n >= given || w.known.CompareAndSwap(topic, was, given) {
			return
		}
	}
}

// pass gives positions to up to passSize messages. It returns the number of new messages, and
// the last position.
func (w watermillSQL) pass(ctx context.Context, db *sql.DB, topic string) (n int, to int64, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, 0, err
	}
	defer tx.Rollback() //nolint:errcheck // the error that matters is returned
	var from int64
	switch err := tx.QueryRowContext(ctx, `SELECT last_position FROM wm_positions WHERE topic = ? FOR UPDATE SKIP LOCKED`, topic).Scan(&from); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, 0, nil // another session does it
	case err != nil:
		return 0, 0, err
	}
	// Two reads under the lock, each in a new snapshot: the first may show the second of two
	// writers of a key without the first, or messages that an earlier pass has numbered. Ids
	// that both reads agree on are certain.
	first, err := fresh(ctx, tx, topic, math.MaxInt64)
	if err != nil || len(first) == 0 {
		return 0, from, err
	}
	second, err := fresh(ctx, tx, topic, first[len(first)-1])
	if err != nil {
		return 0, from, err
	}
	agreed := mysqllog.Sure(first, second, func(id int64) int64 { return id })
	if len(agreed) == 0 {
		return 1, from, nil // there are new messages: look again
	}
	ids, err := json.Marshal(agreed)
	if err != nil {
		return 0, from, err
	}
	// A join instead of an IN list, so that each row is found by its primary key alone and no
	// row of an open transaction is waited for.
	res, err := tx.ExecContext(ctx, "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, id BIGINT PATH '$')) AS j"+
		" STRAIGHT_JOIN "+messages(topic)+" AS m FORCE INDEX (PRIMARY) ON m.`offset` = j.id"+
		" SET m.`position` = ? + j.nth WHERE m.`position` IS NULL", string(ids), from)
	if err != nil {
		return 0, from, err
	}
	given, err := res.RowsAffected()
	if err == nil {
		to = from + int64(len(agreed))
		_, err = tx.ExecContext(ctx, `UPDATE wm_positions SET last_position = ? WHERE topic = ?`, to, topic)
	}
	if err == nil {
		err = tx.Commit()
	}
	return int(given), to, err
}

// fresh returns ids of committed messages without a position, ascending, up to the last id of an
// earlier read.
func fresh(ctx context.Context, tx *sql.Tx, topic string, upTo int64) ([]int64, error) {
	return sqlrows.Column[int64](ctx, tx, "SELECT `offset` FROM "+messages(topic)+" FORCE INDEX (`position`)"+
		" WHERE `position` IS NULL AND `offset` <= ? ORDER BY `offset` LIMIT "+strconv.Itoa(passSize), upTo)
}
