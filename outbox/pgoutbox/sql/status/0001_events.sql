-- +goose Up
-- One row per event, with its state.
--
-- seq is the order within a key: the events of a key are appended one after the
-- other, under its lock, and the identity must keep CACHE 1, or numbers handed
-- to one session would lie below those that another has used. xid is the
-- transaction that wrote the row; with snapshots it tells which rows a reader
-- has covered.
--
-- Publishing an event changes state, published and published_at. None of them is
-- in any index, not even in a condition, and each page is left free for a second
-- version of its rows: so PostgreSQL puts that beside the first and touches no
-- index (a HOT update), and the space comes back without a vacuum.
CREATE TABLE outbox_events (
	seq             bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
	shard           integer NOT NULL,
	xid             xid8    NOT NULL DEFAULT pg_current_xact_id(),
	id              uuid    NOT NULL,
	topic           text    NOT NULL,
	event_key       text    NOT NULL,
	event_type      text    NOT NULL,
	aggregate_type  text    NOT NULL,
	aggregate_id    text    NOT NULL,
	headers         text    NOT NULL,
	payload         bytea   NOT NULL,
	created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
	-- Failures: attempts counts every one, retry_count the retries that were the
	-- event's own fault. aside: later events of other keys may pass.
	aside           boolean NOT NULL DEFAULT false,
	attempts        integer NOT NULL DEFAULT 0,
	retry_count     integer NOT NULL DEFAULT 0,
	age_us          bigint  NOT NULL DEFAULT 0, -- microseconds that it failed while others got through
	last_error      text,
	first_failed_at timestamptz,
	next_retry_at   timestamptz, -- null: as soon as it is the first of its key
	failed_at       timestamptz, -- when it was given up
	state           text    NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'PUBLISHED', 'FAILED')),
	published       boolean NOT NULL DEFAULT false,
	published_at    timestamptz,
	PRIMARY KEY (shard, seq)
) WITH (fillfactor = 45);
CREATE INDEX outbox_events_xid ON outbox_events (shard, xid);
CREATE INDEX outbox_events_failing ON outbox_events (shard, event_key, seq) WHERE aside OR attempts > 0;

-- The lease of a shard's relay, and how far it has read.
CREATE TABLE outbox_event_leases (
	shard        integer PRIMARY KEY,
	position     text    NOT NULL DEFAULT '', -- system identifier|from|to|end|last
	lease_holder text    NOT NULL DEFAULT '',
	lease_token  bigint  NOT NULL DEFAULT 0,
	lease_until  timestamptz NOT NULL DEFAULT '-infinity',
	updated_at   timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

-- The number of shards, which must not change once events were written.
CREATE TABLE outbox_event_settings (
	name  text PRIMARY KEY,
	value text NOT NULL
);

-- +goose Down
DROP TABLE outbox_event_settings;
DROP TABLE outbox_event_leases;
DROP TABLE outbox_events;
