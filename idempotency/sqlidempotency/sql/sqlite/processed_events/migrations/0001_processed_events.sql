-- +goose Up
-- One row per event and consumer. Times are UTC text of fixed width, which
-- sorts by time.
CREATE TABLE {{table}} (
    event_id         TEXT NOT NULL,
    consumer_service TEXT NOT NULL,
    aggregate_id     TEXT NOT NULL,
    event_type       TEXT NOT NULL,
    processed_at     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (event_id, consumer_service)
) STRICT, WITHOUT ROWID;
CREATE INDEX {{table}}_processed_at ON {{table}} (processed_at);

-- +goose Down
DROP TABLE {{table}};
