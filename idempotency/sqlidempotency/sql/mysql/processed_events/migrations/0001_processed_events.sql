-- +goose Up
-- One row per event and consumer. VARBINARY compares ids byte by byte, spaces
-- at their end too, on every server and whatever its collations. Times are UTC.
-- A statement that records many keys marks its rows with a number in batch, by
-- which it knows them afterwards.
CREATE TABLE IF NOT EXISTS {{table}} (
    event_id         VARBINARY(255) NOT NULL,
    consumer_service VARBINARY(255) NOT NULL,
    aggregate_id     VARCHAR(255) NOT NULL,
    event_type       VARCHAR(255) NOT NULL,
    processed_at     DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    batch            BIGINT NULL,
    PRIMARY KEY (event_id, consumer_service),
    KEY {{table}}_processed_at (processed_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE {{table}};
