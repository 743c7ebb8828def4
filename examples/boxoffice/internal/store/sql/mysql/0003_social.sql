-- +goose Up

-- sales_count is counted by its consumer and may lag behind the seats.
ALTER TABLE shows ADD COLUMN sales_count BIGINT NOT NULL DEFAULT 0;

CREATE TABLE comments (
  comment_id VARCHAR(128) PRIMARY KEY,
  show_id    VARCHAR(128) NOT NULL,
  member_id  VARCHAR(128) NOT NULL,
  text       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  deleted_at BIGINT -- set instead of deleting the row
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX comments_show ON comments (show_id, comment_id);

CREATE TABLE likes (
  show_id    VARCHAR(128) NOT NULL,
  member_id  VARCHAR(128) NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (show_id, member_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE follows (
  followed_id VARCHAR(128) NOT NULL,
  follower_id VARCHAR(128) NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (followed_id, follower_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE votes (
  show_id   VARCHAR(128) PRIMARY KEY,
  closes_at BIGINT NOT NULL,
  closed_at BIGINT
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE ballots (
  show_id    VARCHAR(128) NOT NULL,
  member_id  VARCHAR(128) NOT NULL,
  choice     VARCHAR(128) NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (show_id, member_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE ballots;
DROP TABLE votes;
DROP TABLE follows;
DROP TABLE likes;
DROP TABLE comments;
ALTER TABLE shows DROP COLUMN sales_count;
