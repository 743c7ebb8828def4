-- +goose Up
-- One row per effect outside the database. leased_until is the deadline of a
-- CLAIMED row, and when it ended for RELEASED and COMPLETED ones, in
-- microseconds since 1970. claim is a random number of the call that has the
-- lease; token grows with every claim.
CREATE TABLE {{table}} (
    idempotency_key TEXT NOT NULL PRIMARY KEY,
    consumer_group  TEXT NOT NULL,
    event_type      TEXT NOT NULL,
    aggregate_id    TEXT NOT NULL,
    fingerprint     TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('CLAIMED', 'RELEASED', 'COMPLETED')),
    token           INTEGER NOT NULL,
    claim           INTEGER NOT NULL,
    leased_until    INTEGER NOT NULL,
    result          BLOB,
    created_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX {{table}}_leased_until ON {{table}} (leased_until);

-- +goose Down
DROP TABLE {{table}};
