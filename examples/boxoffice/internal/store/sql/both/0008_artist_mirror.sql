-- +goose Up

-- Operators and prefetch look for failed artists, by the time of the next try.
CREATE INDEX update_status_due ON update_status (state, next_retry_at);

-- Refreshes that were wanted and could not be asked for at once: the broker or
-- Redis refused, or more was wanted than fits into memory. A row goes when its
-- request was published, or its artist was checked since.
CREATE TABLE artist_asks (
  artist_id TEXT PRIMARY KEY,
  reason    TEXT NOT NULL,
  correlation_id TEXT NOT NULL DEFAULT '',
  asked_at  BIGINT NOT NULL,
  due_at    BIGINT NOT NULL
);
CREATE INDEX artist_asks_due ON artist_asks (due_at, artist_id);

-- Each snapshot that an artist had, from when it was first seen, in the form of
-- artist_extracts. Rows are deleted after 90 days.
CREATE TABLE artist_history (
  position     INTEGER PRIMARY KEY AUTOINCREMENT,
  artist_id    TEXT NOT NULL,
  changed_at   BIGINT NOT NULL,
  content_hash TEXT NOT NULL,
  content      BLOB NOT NULL
);
CREATE INDEX artist_history_artist ON artist_history (artist_id, position);
CREATE INDEX artist_history_changed ON artist_history (changed_at);

-- +goose Down
DROP TABLE artist_history;
DROP TABLE artist_asks;
DROP INDEX update_status_due;
