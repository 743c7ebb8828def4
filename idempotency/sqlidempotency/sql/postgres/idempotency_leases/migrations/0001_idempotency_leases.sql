-- +goose Up
-- One row per effect outside the database. leased_until is the deadline of a
-- CLAIMED row, and when it ended for RELEASED and COMPLETED ones. claim is a
-- random number of the call that has the lease; token grows with every claim.
CREATE TABLE {{table}} (
    idempotency_key text COLLATE "C" PRIMARY KEY,
    consumer_group  text NOT NULL,
    event_type      text NOT NULL,
    aggregate_id    text NOT NULL,
    fingerprint     text COLLATE "C" NOT NULL,
    state           text NOT NULL CHECK (state IN ('CLAIMED', 'RELEASED', 'COMPLETED')),
    token           bigint NOT NULL,
    claim           bigint NOT NULL,
    leased_until    timestamptz NOT NULL,
    result          bytea,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX {{table}}_leased_until ON {{table}} (leased_until);

-- +goose Down
DROP TABLE {{table}};
