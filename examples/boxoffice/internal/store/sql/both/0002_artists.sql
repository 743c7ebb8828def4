-- +goose Up

-- One narrow row for each artist that was ever asked for, with the columns that change
-- with every check. The extract, which rarely changes, is in a table of its own, so that
-- a check without news writes some bytes and not a page of JSON.
CREATE TABLE artists (
  artist_id         TEXT    PRIMARY KEY,
  name              TEXT    NOT NULL DEFAULT '',
  level             BIGINT  NOT NULL DEFAULT 0,
  source_updated_at BIGINT  NOT NULL DEFAULT 0,  -- what the upstream says
  content_hash      TEXT    NOT NULL DEFAULT '', -- of the extract; '' while there is none
  version           BIGINT  NOT NULL DEFAULT 0,  -- of the latest request that was carried out
  last_updated_at   BIGINT  NOT NULL DEFAULT 0,  -- the extract changed
  last_checked_at   BIGINT  NOT NULL DEFAULT 0,  -- the upstream answered
  missing_since     BIGINT  NOT NULL DEFAULT 0,  -- the upstream has no such artist; 0 when it has
  last_requested_at BIGINT  NOT NULL DEFAULT 0,  -- somebody read it, to within some minutes
  prefetched_at     BIGINT  NOT NULL DEFAULT 0   -- a refresh was asked for without a reader
);
CREATE INDEX artists_requested ON artists (last_requested_at);
CREATE INDEX artists_checked ON artists (last_checked_at);

-- The upstream's document without its history: canonical JSON, gzip.
CREATE TABLE artist_extracts (
  artist_id TEXT PRIMARY KEY,
  content   BLOB NOT NULL
);

-- Refreshes that failed. Sparse: the next success removes the row.
CREATE TABLE update_status (
  character_id       TEXT    PRIMARY KEY, -- the artist's id
  state              TEXT    NOT NULL CHECK (state IN ('RETRYING', 'FAILED')),
  fail_count         INTEGER NOT NULL,
  last_error_code    TEXT    NOT NULL,
  last_error_message TEXT    NOT NULL,
  next_retry_at      BIGINT  NOT NULL,
  created_at         BIGINT  NOT NULL,
  updated_at         BIGINT  NOT NULL
);

-- Where archived extracts are. A row stands before its object is written and
-- until after it was deleted, so a crash leaves no object without a row.
CREATE TABLE artist_archive (
  artist_id  TEXT    NOT NULL,
  tier       INTEGER NOT NULL, -- 1 to 4
  state      TEXT    NOT NULL CHECK (state IN ('PUTTING', 'STORED', 'DELETING')),
  changed_at BIGINT  NOT NULL,
  PRIMARY KEY (artist_id, tier)
);
CREATE INDEX artist_archive_state ON artist_archive (state, tier);

CREATE TABLE artist_jobs (
  name    TEXT   PRIMARY KEY,
  done_at BIGINT NOT NULL -- when it was last done to the end
);

-- +goose Down
DROP TABLE artist_jobs;
DROP TABLE artist_archive;
DROP TABLE update_status;
DROP TABLE artist_extracts;
DROP TABLE artists;
