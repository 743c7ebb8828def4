-- +goose Up

-- Which request, and which event, a reservation and a payment came of: their events are
-- made later. Of a payment they are those of its refund once that is asked for.
ALTER TABLE reservations ADD COLUMN correlation_id VARCHAR(128) NOT NULL DEFAULT '';
ALTER TABLE payments ADD COLUMN correlation_id VARCHAR(128) NOT NULL DEFAULT '';
ALTER TABLE payments ADD COLUMN causation_id VARCHAR(128) NOT NULL DEFAULT '';

-- The admissions from the waiting room, with the time by the clock of the room's store:
-- an admission is of one user, event and time. Old rows are deleted.
CREATE TABLE admissions (
  event_id    VARCHAR(128) NOT NULL,
  user_id     VARCHAR(256) NOT NULL,
  admitted_at BIGINT NOT NULL,
  PRIMARY KEY (event_id, user_id, admitted_at)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX admissions_newest ON admissions (admitted_at);

-- +goose Down
DROP TABLE admissions;
ALTER TABLE payments DROP COLUMN causation_id;
ALTER TABLE payments DROP COLUMN correlation_id;
ALTER TABLE reservations DROP COLUMN correlation_id;
