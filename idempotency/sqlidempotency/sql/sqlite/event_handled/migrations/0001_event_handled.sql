-- +goose Up
-- One row per effect. Times are UTC text of fixed width, which sorts by time.
CREATE TABLE {{table}} (
    idempotency_key TEXT NOT NULL PRIMARY KEY,
    consumer_group  TEXT NOT NULL,
    event_type      TEXT NOT NULL,
    aggregate_id    TEXT NOT NULL,
    handled_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT, WITHOUT ROWID;
CREATE INDEX {{table}}_handled_at ON {{table}} (handled_at);

-- +goose Down
DROP TABLE {{table}};
