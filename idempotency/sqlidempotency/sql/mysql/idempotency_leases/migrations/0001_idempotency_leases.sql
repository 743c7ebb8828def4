-- +goose Up
-- One row per effect outside the database. leased_until is the deadline of a
-- CLAIMED row, and when it ended for RELEASED and COMPLETED ones, UTC. claim is
-- a random number of the call that has the lease; token grows with every claim.
CREATE TABLE IF NOT EXISTS {{table}} (
    idempotency_key VARBINARY(255) NOT NULL PRIMARY KEY,
    consumer_group  VARCHAR(255) NOT NULL,
    event_type      VARCHAR(255) NOT NULL,
    aggregate_id    VARCHAR(255) NOT NULL,
    fingerprint     VARBINARY(255) NOT NULL,
    state           VARCHAR(16) NOT NULL CHECK (state IN ('CLAIMED', 'RELEASED', 'COMPLETED')),
    token           BIGINT NOT NULL,
    claim           BIGINT NOT NULL,
    leased_until    DATETIME(6) NOT NULL,
    result          LONGBLOB NULL,
    created_at      DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    KEY {{table}}_leased_until (leased_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE {{table}};
