-- +goose Up
-- The number of shards, which must not change once events were written.
CREATE TABLE outbox_settings (
	name  text PRIMARY KEY,
	value text NOT NULL
);

-- Events that failed, and those that wait behind them. While aside is false the
-- event keeps its place in outbox_messages and only its attempts are kept here;
-- while it is true the event has left its place, and this row is all there is.
-- seq is the order within a key: ids are no order of reading.
CREATE TABLE outbox_retries (
	seq             bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
	id              bigint PRIMARY KEY, -- of outbox_messages
	shard           integer NOT NULL,
	topic           text    NOT NULL,
	message_id      text    NOT NULL,
	message_key     text    NOT NULL,
	headers         text    NOT NULL,
	payload         bytea,
	created_at      timestamptz NOT NULL,
	aside           boolean NOT NULL,
	attempts        integer NOT NULL,
	age_us          bigint  NOT NULL, -- microseconds that it failed while others got through
	last_error      text    NOT NULL,
	first_failed_at timestamptz, -- null: it only waits behind another
	next_retry_at   timestamptz  -- null: as soon as it is the first of its key
);
CREATE INDEX outbox_retries_key ON outbox_retries (shard, message_key, seq);

-- Parked events. They stay until an operator retries or deletes them.
CREATE TABLE outbox_failed (
	id              bigint PRIMARY KEY, -- of outbox_messages
	shard           integer NOT NULL,
	topic           text    NOT NULL,
	message_id      text    NOT NULL,
	message_key     text    NOT NULL,
	headers         text    NOT NULL,
	payload         bytea   NOT NULL,
	created_at      timestamptz NOT NULL,
	attempts        integer NOT NULL,
	last_error      text    NOT NULL,
	first_failed_at timestamptz NOT NULL,
	failed_at       timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- +goose Down
DROP TABLE outbox_failed;
DROP TABLE outbox_retries;
DROP TABLE outbox_settings;
