-- +goose Up

-- seq is the place in the room, from 1 without a gap: the order in which the
-- messages were committed.
CREATE TABLE chat_messages (
  room_id    VARCHAR(128) NOT NULL,
  seq        BIGINT NOT NULL,
  message_id VARCHAR(128) NOT NULL UNIQUE,
  sender_id  VARCHAR(128) NOT NULL,
  message    TEXT NOT NULL,
  sent_at    BIGINT NOT NULL,
  PRIMARY KEY (room_id, seq)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE chat_rooms (
  room_id  VARCHAR(128) PRIMARY KEY,
  last_seq BIGINT NOT NULL DEFAULT 0
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE chat_members (
  room_id   VARCHAR(128) NOT NULL,
  member_id VARCHAR(128) NOT NULL,
  joined_at BIGINT NOT NULL,
  PRIMARY KEY (room_id, member_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX chat_members_of ON chat_members (member_id);

-- +goose Down
DROP TABLE chat_members;
DROP TABLE chat_rooms;
DROP TABLE chat_messages;
