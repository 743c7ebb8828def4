-- +goose Up

-- seq is the place in the room, from 1 without a gap: the order in which the
-- messages were committed.
CREATE TABLE chat_messages (
  room_id    TEXT NOT NULL,
  seq        BIGINT NOT NULL,
  message_id TEXT NOT NULL UNIQUE,
  sender_id  TEXT NOT NULL,
  message    TEXT NOT NULL,
  sent_at    BIGINT NOT NULL,
  PRIMARY KEY (room_id, seq)
);

CREATE TABLE chat_rooms (
  room_id  TEXT PRIMARY KEY,
  last_seq BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE chat_members (
  room_id   TEXT NOT NULL,
  member_id TEXT NOT NULL,
  joined_at BIGINT NOT NULL,
  PRIMARY KEY (room_id, member_id)
);
CREATE INDEX chat_members_of ON chat_members (member_id);

-- +goose Down
DROP TABLE chat_members;
DROP TABLE chat_rooms;
DROP TABLE chat_messages;
