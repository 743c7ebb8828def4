-- +goose Up

-- sales_count is counted by its consumer and may lag behind the seats.
ALTER TABLE shows ADD COLUMN sales_count BIGINT NOT NULL DEFAULT 0;

CREATE TABLE comments (
  comment_id TEXT PRIMARY KEY,
  show_id    TEXT NOT NULL,
  member_id  TEXT NOT NULL,
  text       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  deleted_at BIGINT -- set instead of deleting the row
);
CREATE INDEX comments_show ON comments (show_id, comment_id);

CREATE TABLE likes (
  show_id    TEXT NOT NULL,
  member_id  TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (show_id, member_id)
);

CREATE TABLE follows (
  followed_id TEXT NOT NULL,
  follower_id TEXT NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (followed_id, follower_id)
);

CREATE TABLE votes (
  show_id   TEXT PRIMARY KEY,
  closes_at BIGINT NOT NULL,
  closed_at BIGINT
);

CREATE TABLE ballots (
  show_id    TEXT NOT NULL,
  member_id  TEXT NOT NULL,
  choice     TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (show_id, member_id)
);

-- +goose Down
DROP TABLE ballots;
DROP TABLE votes;
DROP TABLE follows;
DROP TABLE likes;
DROP TABLE comments;
ALTER TABLE shows DROP COLUMN sales_count;
