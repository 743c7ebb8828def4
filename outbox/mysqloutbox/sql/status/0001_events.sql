-- +goose Up
-- One row per event, with its state. seq is the order within a key: the
-- events of a key are appended one after the other, under its lock. It is not
-- the order of commits. Times are UTC.
CREATE TABLE IF NOT EXISTS outbox_events (
	seq             BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
	shard           INT           NOT NULL,
	id              CHAR(36)      CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- a UUID
	topic           VARCHAR(255)  NOT NULL,
	event_key       VARCHAR(1000) NOT NULL,
	event_type      VARCHAR(1000) NOT NULL,
	aggregate_type  VARCHAR(1000) NOT NULL,
	aggregate_id    VARCHAR(1000) NOT NULL,
	headers         LONGTEXT      NOT NULL,
	payload         LONGBLOB      NOT NULL,
	state           VARCHAR(9)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'PENDING'
		CHECK (state IN ('PENDING', 'PUBLISHED', 'FAILED')),
	published       BOOLEAN       NOT NULL DEFAULT FALSE,
	published_at    DATETIME(6),
	created_at      DATETIME(6)   NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
	-- Failures: attempts counts every one, retry_count the retries that were the
	-- event's own fault. aside: later events of other keys may pass.
	aside           BOOLEAN       NOT NULL DEFAULT FALSE,
	attempts        INT           NOT NULL DEFAULT 0,
	retry_count     INT           NOT NULL DEFAULT 0,
	age_us          BIGINT        NOT NULL DEFAULT 0, -- microseconds that it failed while others got through
	last_error      TEXT,
	first_failed_at DATETIME(6),
	next_retry_at   DATETIME(6), -- null: as soon as it is the first of its key
	failed_at       DATETIME(6), -- when it was given up
	INDEX outbox_events_state (shard, state, aside, seq)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The lease of a shard's relay. touched counts writes, so that each changes the row:
-- otherwise the server would count none.
CREATE TABLE IF NOT EXISTS outbox_event_leases (
	shard        INT          NOT NULL PRIMARY KEY,
	position     VARCHAR(255) NOT NULL DEFAULT '', -- not used: seq and state say it all
	lease_holder VARCHAR(255) NOT NULL DEFAULT '',
	lease_token  BIGINT       NOT NULL DEFAULT 0,
	lease_until  DATETIME(6)  NOT NULL DEFAULT '1970-01-01 00:00:00',
	touched      BIGINT       NOT NULL DEFAULT 0,
	updated_at   DATETIME(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The number of shards, which must not change once events were written.
CREATE TABLE IF NOT EXISTS outbox_event_settings (
	name  VARCHAR(255) NOT NULL PRIMARY KEY,
	value VARCHAR(255) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE outbox_event_settings;
DROP TABLE outbox_event_leases;
DROP TABLE outbox_events;
