-- +goose Up
-- One row per key that was ever counted. VARBINARY compares keys byte by byte, spaces at their end too. Times are UTC.
CREATE TABLE IF NOT EXISTS count_totals (
    counter     VARBINARY(64) NOT NULL,
    counter_key VARBINARY(255) NOT NULL,
    total       BIGINT NOT NULL,
    updated_at  DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (counter, counter_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One row per batch that was applied; none is applied twice. A batch of change
-- rows covers the interval of the log from processed_from to processed_to; a batch
-- of deltas has neither.
CREATE TABLE IF NOT EXISTS count_batches (
    batch_id       VARBINARY(64) NOT NULL PRIMARY KEY,
    counter        VARBINARY(64) NOT NULL,
    processed_from TEXT NOT NULL,
    processed_to   TEXT NOT NULL,
    row_count      BIGINT NOT NULL,
    applied_at     DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    KEY count_batches_applied_at (counter, applied_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One row per counter: how far its log is applied, and the lease, with its end in
-- microseconds since 1970. token grows with every lease, applied with every batch.
CREATE TABLE IF NOT EXISTS count_flushers (
    counter      VARBINARY(64) NOT NULL PRIMARY KEY,
    processed_to TEXT NOT NULL DEFAULT (''),
    holder       VARBINARY(64) NOT NULL DEFAULT '',
    token        BIGINT NOT NULL DEFAULT 0,
    leased_until BIGINT NOT NULL DEFAULT 0,
    applied      BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE count_flushers;
DROP TABLE count_batches;
DROP TABLE count_totals;
