-- +goose Up
-- One row per key that was ever counted. COLLATE "C" compares keys byte by byte, whatever the database's locale.
CREATE TABLE count_totals (
    counter     text COLLATE "C" NOT NULL,
    counter_key text COLLATE "C" NOT NULL,
    total       bigint NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (counter, counter_key)
);

-- One row per batch that was applied; none is applied twice. A batch of change
-- rows covers the interval of the log from processed_from to processed_to; a batch
-- of deltas has neither.
CREATE TABLE count_batches (
    batch_id       text COLLATE "C" NOT NULL PRIMARY KEY,
    counter        text COLLATE "C" NOT NULL,
    processed_from text NOT NULL DEFAULT '',
    processed_to   text NOT NULL DEFAULT '',
    row_count      bigint NOT NULL,
    applied_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX count_batches_applied_at ON count_batches (counter, applied_at);

-- One row per counter: how far its log is applied, and the lease, with its end in
-- microseconds since 1970. token grows with every lease, applied with every batch.
CREATE TABLE count_flushers (
    counter      text COLLATE "C" NOT NULL PRIMARY KEY,
    processed_to text NOT NULL DEFAULT '',
    holder       text COLLATE "C" NOT NULL DEFAULT '',
    token        bigint NOT NULL DEFAULT 0,
    leased_until bigint NOT NULL DEFAULT 0,
    applied      bigint NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE count_flushers;
DROP TABLE count_batches;
DROP TABLE count_totals;
