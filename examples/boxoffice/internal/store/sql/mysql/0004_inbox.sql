-- +goose Up

-- The id is made of the event's id and the member, so an event that comes twice
-- makes one row. position is the place in the order of commits: a writer takes the next
-- one from notification_positions, whose row stays locked until its commit. The rows of
-- one page of recipients share one.
CREATE TABLE notifications (
  notification_id VARCHAR(256) PRIMARY KEY,
  member_id       VARCHAR(128) NOT NULL,
  type            VARCHAR(128) NOT NULL,
  message         TEXT NOT NULL,
  ref_id          VARCHAR(128) NOT NULL,
  created_at      BIGINT NOT NULL,
  read_at         BIGINT,
  position        BIGINT NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX notifications_inbox ON notifications (member_id, position);
-- There are no partial indexes.
CREATE INDEX notifications_unread ON notifications (member_id, read_at, position);
CREATE INDEX notifications_position ON notifications (position);
CREATE INDEX notifications_age ON notifications (created_at, notification_id);

-- stored is the last position that was assigned, sent the last one that was sent to
-- the streams.
CREATE TABLE notification_positions (
  name     VARCHAR(128) PRIMARY KEY,
  position BIGINT NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO notification_positions (name, position) VALUES ('stored', 0), ('sent', 0);

-- Notifications of which there are more than one page: those whose member comes
-- after after_member have yet to be stored.
CREATE TABLE notification_fanouts (
  event_id     VARCHAR(128) PRIMARY KEY,
  type         VARCHAR(128) NOT NULL,
  message      TEXT NOT NULL,
  ref_id       VARCHAR(128) NOT NULL,
  audience     VARCHAR(128) NOT NULL CHECK (audience IN ('FOLLOWERS', 'VOTERS')),
  audience_of  VARCHAR(128) NOT NULL, -- the member who is followed, the show that was voted on
  after_member VARCHAR(128) NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE notification_settings (
  member_id VARCHAR(128) PRIMARY KEY,
  muted     INTEGER NOT NULL CHECK (muted IN (0, 1))
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE notification_settings;
DROP TABLE notification_fanouts;
DROP TABLE notification_positions;
DROP TABLE notifications;
