-- +goose Up

-- The receiver of a transfer has to agree. PENDING without accepted_at is an offer,
-- which can be accepted until expires_at. Transfers from before this column needed no
-- consent.
ALTER TABLE transfers ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE transfers ADD COLUMN accepted_at BIGINT;
UPDATE transfers SET accepted_at = created_at;
CREATE INDEX transfers_from ON transfers (from_member_id, created_at);
CREATE INDEX transfers_to ON transfers (to_member_id, created_at);

-- generation counts the owners of a ticket: codes of an earlier owner are worth
-- nothing. used_at is when the first of its seats was used: it stands in the row that
-- a refund and a transfer lock.
ALTER TABLE reservations ADD COLUMN generation BIGINT NOT NULL DEFAULT 1;
ALTER TABLE reservations ADD COLUMN used_at BIGINT;

-- Tickets that were used at the door: one row for a seat, so that only the first scan
-- opens the door. scan_key tells a repeated request from a second scan.
CREATE TABLE ticket_scans (
  reservation_id TEXT NOT NULL REFERENCES reservations (reservation_id),
  seat_id        TEXT NOT NULL,
  generation     BIGINT NOT NULL,
  scan_key       TEXT NOT NULL,
  scanned_at     BIGINT NOT NULL,
  PRIMARY KEY (reservation_id, seat_id)
);

-- +goose Down
DROP TABLE ticket_scans;
ALTER TABLE reservations DROP COLUMN used_at;
ALTER TABLE reservations DROP COLUMN generation;
DROP INDEX transfers_to;
DROP INDEX transfers_from;
ALTER TABLE transfers DROP COLUMN accepted_at;
ALTER TABLE transfers DROP COLUMN expires_at;
