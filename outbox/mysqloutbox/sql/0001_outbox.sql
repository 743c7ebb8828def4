-- +goose Up
-- The number of shards, which must not change once events were written.
CREATE TABLE IF NOT EXISTS outbox_settings (
	name  VARCHAR(64)  NOT NULL PRIMARY KEY,
	value VARCHAR(255) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Events that failed, and those that wait behind them. While aside is 0 the
-- event keeps its place in outbox_messages and only its attempts are kept here;
-- while it is 1 the event has left its place, and this row is all there is.
-- seq is the order within a key: ids are no order of reading.
CREATE TABLE IF NOT EXISTS outbox_retries (
	seq             BIGINT        NOT NULL AUTO_INCREMENT UNIQUE,
	id              BIGINT        NOT NULL PRIMARY KEY, -- of outbox_messages
	shard           INT           NOT NULL,
	topic           VARCHAR(255)  NOT NULL,
	message_id      VARCHAR(255)  NOT NULL,
	message_key     VARCHAR(1000) NOT NULL,
	headers         LONGTEXT      NOT NULL,
	payload         LONGBLOB,
	created_at      DATETIME(6)   NOT NULL,
	aside           BOOLEAN       NOT NULL,
	attempts        INT           NOT NULL,
	age_us          BIGINT        NOT NULL, -- microseconds that it failed while others got through
	last_error      TEXT          NOT NULL,
	first_failed_at DATETIME(6), -- null: it only waits behind another
	next_retry_at   DATETIME(6), -- null: as soon as it is the first of its key
	INDEX outbox_retries_key (shard, message_key(191))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Parked events. They stay until an operator retries or deletes them.
CREATE TABLE IF NOT EXISTS outbox_failed (
	id              BIGINT        NOT NULL PRIMARY KEY, -- of outbox_messages
	shard           INT           NOT NULL,
	topic           VARCHAR(255)  NOT NULL,
	message_id      VARCHAR(255)  NOT NULL,
	message_key     VARCHAR(1000) NOT NULL,
	headers         LONGTEXT      NOT NULL,
	payload         LONGBLOB      NOT NULL,
	created_at      DATETIME(6)   NOT NULL,
	attempts        INT           NOT NULL,
	last_error      TEXT          NOT NULL,
	first_failed_at DATETIME(6)   NOT NULL,
	failed_at       DATETIME(6)   NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE outbox_failed;
DROP TABLE outbox_retries;
DROP TABLE outbox_settings;
