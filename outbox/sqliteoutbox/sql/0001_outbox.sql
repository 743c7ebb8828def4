-- +goose Up
-- Times are microseconds since 1970.

-- The number of shards, which must not change once events were written.
CREATE TABLE outbox_settings (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

-- Events that failed, and those that wait behind them. While aside is 0 the
-- event keeps its place in outbox_messages and only its attempts are kept here;
-- while it is 1 the event has left its place, and this row is all there is.
-- seq is the order within a key.
CREATE TABLE outbox_retries (
	seq             INTEGER PRIMARY KEY AUTOINCREMENT,
	id              INTEGER NOT NULL UNIQUE, -- of outbox_messages
	shard           INTEGER NOT NULL,
	topic           TEXT    NOT NULL,
	message_id      TEXT    NOT NULL,
	message_key     TEXT    NOT NULL,
	headers         TEXT    NOT NULL,
	payload         BLOB,
	created_at      INTEGER NOT NULL,
	aside           INTEGER NOT NULL,
	attempts        INTEGER NOT NULL,
	age_us          INTEGER NOT NULL, -- microseconds that it failed while others got through
	last_error      TEXT    NOT NULL,
	first_failed_at INTEGER, -- null: it only waits behind another
	next_retry_at   INTEGER  -- null: as soon as it is the first of its key
);
CREATE INDEX outbox_retries_key ON outbox_retries (shard, message_key, seq);

-- Parked events. They stay until an operator retries or deletes them.
CREATE TABLE outbox_failed (
	id              INTEGER PRIMARY KEY, -- of outbox_messages
	shard           INTEGER NOT NULL,
	topic           TEXT    NOT NULL,
	message_id      TEXT    NOT NULL,
	message_key     TEXT    NOT NULL,
	headers         TEXT    NOT NULL,
	payload         BLOB    NOT NULL,
	created_at      INTEGER NOT NULL,
	attempts        INTEGER NOT NULL,
	last_error      TEXT    NOT NULL,
	first_failed_at INTEGER NOT NULL,
	failed_at       INTEGER NOT NULL
);

-- +goose Down
DROP TABLE outbox_failed;
DROP TABLE outbox_retries;
DROP TABLE outbox_settings;
