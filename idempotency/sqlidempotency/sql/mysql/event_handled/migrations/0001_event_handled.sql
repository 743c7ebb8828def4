-- +goose Up
-- One row per effect. VARBINARY compares keys byte by byte, spaces at their end
-- too, on every server and whatever its collations. Times are UTC. A statement
-- that records many keys marks its rows with a number in batch, by which it
-- knows them afterwards.
CREATE TABLE IF NOT EXISTS {{table}} (
    idempotency_key VARBINARY(255) NOT NULL PRIMARY KEY,
    consumer_group  VARCHAR(255) NOT NULL,
    event_type      VARCHAR(255) NOT NULL,
    aggregate_id    VARCHAR(255) NOT NULL,
    handled_at      DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    batch           BIGINT NULL,
    KEY {{table}}_handled_at (handled_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE {{table}};
