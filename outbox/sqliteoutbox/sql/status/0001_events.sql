-- +goose Up
-- Times are microseconds since 1970.

-- One row per event, with its state. SQLite has one writer at a time, so
-- with AUTOINCREMENT seq is the order of commits.
CREATE TABLE outbox_events (
	seq             INTEGER PRIMARY KEY AUTOINCREMENT,
	shard           INTEGER NOT NULL,
	id              TEXT    NOT NULL, -- a UUID
	topic           TEXT    NOT NULL,
	event_key       TEXT    NOT NULL,
	event_type      TEXT    NOT NULL,
	aggregate_type  TEXT    NOT NULL,
	aggregate_id    TEXT    NOT NULL,
	headers         TEXT    NOT NULL,
	state           TEXT    NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'PUBLISHED', 'FAILED')),
	published       INTEGER NOT NULL DEFAULT 0,
	published_at    INTEGER,
	created_at      INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
	-- Failures: attempts counts every one, retry_count the retries that were the
	-- event's own fault. aside: later events of other keys may pass.
	aside           INTEGER NOT NULL DEFAULT 0,
	attempts        INTEGER NOT NULL DEFAULT 0,
	retry_count     INTEGER NOT NULL DEFAULT 0,
	age_us          INTEGER NOT NULL DEFAULT 0, -- microseconds that it failed while others got through
	last_error      TEXT,
	first_failed_at INTEGER,
	next_retry_at   INTEGER, -- null: as soon as it is the first of its key
	failed_at       INTEGER, -- when it was given up
	payload         BLOB    NOT NULL
);
-- Every index entry ends with the row's seq.
CREATE INDEX outbox_events_pending ON outbox_events (shard) WHERE state = 'PENDING' AND NOT aside;
CREATE INDEX outbox_events_aside ON outbox_events (shard, event_key) WHERE state = 'PENDING' AND aside;
CREATE INDEX outbox_events_published ON outbox_events (shard) WHERE state = 'PUBLISHED';
CREATE INDEX outbox_events_failed ON outbox_events (shard) WHERE state = 'FAILED';

-- The lease of a shard's relay.
CREATE TABLE outbox_event_leases (
	shard        INTEGER PRIMARY KEY,
	position     TEXT    NOT NULL DEFAULT '', -- not used: seq and state say it all
	lease_holder TEXT    NOT NULL DEFAULT '',
	lease_token  INTEGER NOT NULL DEFAULT 0,
	lease_until  INTEGER NOT NULL DEFAULT 0,
	updated_at   INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)
);

-- The number of shards, which must not change once events were written.
CREATE TABLE outbox_event_settings (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE outbox_event_settings;
DROP TABLE outbox_event_leases;
DROP TABLE outbox_events;
