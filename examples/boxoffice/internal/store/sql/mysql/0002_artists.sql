-- +goose Up

-- One narrow row for each artist that was ever asked for, with the columns that change
-- with every check. The extract, which rarely changes, is in a table of its own, so that
-- a check without news writes some bytes and not a page of JSON.
CREATE TABLE IF NOT EXISTS artists (
  artist_id         VARCHAR(128) PRIMARY KEY,
  name              VARCHAR(512) NOT NULL DEFAULT '',
  level             BIGINT  NOT NULL DEFAULT 0,
  source_updated_at BIGINT  NOT NULL DEFAULT 0,  -- what the upstream says
  content_hash      VARCHAR(128) NOT NULL DEFAULT '', -- of the extract; '' while there is none
  version           BIGINT  NOT NULL DEFAULT 0,  -- of the latest request that was carried out
  last_updated_at   BIGINT  NOT NULL DEFAULT 0,  -- the extract changed
  last_checked_at   BIGINT  NOT NULL DEFAULT 0,  -- the upstream answered
  missing_since     BIGINT  NOT NULL DEFAULT 0,  -- the upstream has no such artist; 0 when it has
  last_requested_at BIGINT  NOT NULL DEFAULT 0,  -- somebody read it, to within some minutes
  prefetched_at     BIGINT  NOT NULL DEFAULT 0,  -- a refresh was asked for without a reader
  KEY artists_requested (last_requested_at),
  KEY artists_checked (last_checked_at)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The upstream's document without its history: canonical JSON, gzip.
CREATE TABLE IF NOT EXISTS artist_extracts (
  artist_id VARCHAR(128) PRIMARY KEY,
  content   MEDIUMBLOB NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Refreshes that failed. Sparse: the next success removes the row.
CREATE TABLE IF NOT EXISTS update_status (
  character_id       VARCHAR(128) PRIMARY KEY, -- the artist's id
  state              VARCHAR(128) NOT NULL CHECK (state IN ('RETRYING', 'FAILED')),
  fail_count         INTEGER NOT NULL,
  last_error_code    VARCHAR(128) NOT NULL,
  last_error_message VARCHAR(1024) NOT NULL,
  next_retry_at      BIGINT  NOT NULL,
  created_at         BIGINT  NOT NULL,
  updated_at         BIGINT  NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Where archived extracts are. A row stands before its object is written and
-- until after it was deleted, so a crash leaves no object without a row.
CREATE TABLE IF NOT EXISTS artist_archive (
  artist_id  VARCHAR(128) NOT NULL,
  tier       INTEGER NOT NULL, -- 1 to 4
  state      VARCHAR(128) NOT NULL CHECK (state IN ('PUTTING', 'STORED', 'DELETING')),
  changed_at BIGINT  NOT NULL,
  PRIMARY KEY (artist_id, tier),
  KEY artist_archive_state (state, tier)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS artist_jobs (
  name    VARCHAR(128) PRIMARY KEY,
  done_at BIGINT NOT NULL -- when it was last done to the end
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS artist_jobs;
DROP TABLE IF EXISTS artist_archive;
DROP TABLE IF EXISTS update_status;
DROP TABLE IF EXISTS artist_extracts;
DROP TABLE IF EXISTS artists;
