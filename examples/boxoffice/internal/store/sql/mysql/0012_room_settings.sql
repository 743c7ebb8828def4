-- +goose Up

-- The operators' settings of waiting rooms, each change a row: the room's Redis has a
-- copy of the last one. setting is JSON.
CREATE TABLE room_settings (
  event_id   VARCHAR(128) NOT NULL,
  version    BIGINT NOT NULL, -- from 1, without gaps
  setting    TEXT NOT NULL,
  changed_by VARCHAR(256) NOT NULL,
  reason     TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (event_id, version)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE room_settings;
