-- +goose Up
-- One row per key that was ever counted. Times are UTC text of fixed width, which sorts by time.
CREATE TABLE count_totals (
    counter     TEXT NOT NULL,
    counter_key TEXT NOT NULL,
    total       INTEGER NOT NULL,
    updated_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (counter, counter_key)
) STRICT, WITHOUT ROWID;

-- One row per batch that was applied; none is applied twice. A batch of change
-- rows covers the interval of the log from processed_from to processed_to; a batch
-- of deltas has neither.
CREATE TABLE count_batches (
    batch_id       TEXT NOT NULL PRIMARY KEY,
    counter        TEXT NOT NULL,
    processed_from TEXT NOT NULL DEFAULT '',
    processed_to   TEXT NOT NULL DEFAULT '',
    row_count      INTEGER NOT NULL,
    applied_at     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT, WITHOUT ROWID;
CREATE INDEX count_batches_applied_at ON count_batches (counter, applied_at);

-- One row per counter: how far its log is applied, and the lease, with its end in
-- microseconds since 1970. token grows with every lease, applied with every batch.
CREATE TABLE count_flushers (
    counter      TEXT NOT NULL PRIMARY KEY,
    processed_to TEXT NOT NULL DEFAULT '',
    holder       TEXT NOT NULL DEFAULT '',
    token        INTEGER NOT NULL DEFAULT 0,
    leased_until INTEGER NOT NULL DEFAULT 0,
    applied      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE count_flushers;
DROP TABLE count_batches;
DROP TABLE count_totals;
