-- +goose Up

-- The id is made of the event's id and the member, so an event that comes twice
-- makes one row. position is the place in the order of commits: a writer takes the next
-- one from notification_positions, whose row stays locked until its commit. The rows of
-- one page of recipients share one.
CREATE TABLE notifications (
  notification_id TEXT PRIMARY KEY,
  member_id       TEXT NOT NULL,
  type            TEXT NOT NULL,
  message         TEXT NOT NULL,
  ref_id          TEXT NOT NULL,
  created_at      BIGINT NOT NULL,
  read_at         BIGINT,
  position        BIGINT NOT NULL
);
CREATE INDEX notifications_inbox ON notifications (member_id, position);
CREATE INDEX notifications_unread ON notifications (member_id, position) WHERE read_at IS NULL;
CREATE INDEX notifications_position ON notifications (position);
CREATE INDEX notifications_age ON notifications (created_at, notification_id);

-- stored is the last position that was assigned, sent the last one that was sent to
-- the streams.
CREATE TABLE notification_positions (
  name     TEXT PRIMARY KEY,
  position BIGINT NOT NULL
);
INSERT INTO notification_positions (name, position) VALUES ('stored', 0), ('sent', 0);

-- Notifications of which there are more than one page: those whose member comes
-- after after_member have yet to be stored.
CREATE TABLE notification_fanouts (
  event_id     TEXT PRIMARY KEY,
  type         TEXT NOT NULL,
  message      TEXT NOT NULL,
  ref_id       TEXT NOT NULL,
  audience     TEXT NOT NULL CHECK (audience IN ('FOLLOWERS', 'VOTERS')),
  audience_of  TEXT NOT NULL, -- the member who is followed, the show that was voted on
  after_member TEXT NOT NULL
);

CREATE TABLE notification_settings (
  member_id TEXT PRIMARY KEY,
  muted     INTEGER NOT NULL CHECK (muted IN (0, 1))
);

-- +goose Down
DROP TABLE notification_settings;
DROP TABLE notification_fanouts;
DROP TABLE notification_positions;
DROP TABLE notifications;
