-- +goose Up
-- One row per event and consumer. COLLATE "C" compares ids byte by byte,
-- whatever the database's locale.
CREATE TABLE {{table}} (
    event_id         text COLLATE "C" NOT NULL,
    consumer_service text COLLATE "C" NOT NULL,
    aggregate_id     text NOT NULL,
    event_type       text NOT NULL,
    processed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (event_id, consumer_service)
);
CREATE INDEX {{table}}_processed_at ON {{table}} (processed_at);

-- +goose Down
DROP TABLE {{table}};
