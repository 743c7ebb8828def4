-- +goose Up
-- One row per effect. COLLATE "C" compares keys byte by byte, whatever the
-- database's locale.
CREATE TABLE {{table}} (
    idempotency_key text COLLATE "C" PRIMARY KEY,
    consumer_group  text NOT NULL,
    event_type      text NOT NULL,
    aggregate_id    text NOT NULL,
    handled_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX {{table}}_handled_at ON {{table}} (handled_at);

-- +goose Down
DROP TABLE {{table}};
