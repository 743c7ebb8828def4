-- +goose Up

CREATE TABLE members (
  member_id  TEXT   PRIMARY KEY,
  created_at BIGINT NOT NULL -- all times are Unix milliseconds by the database's clock
);

CREATE TABLE shows (
  show_id       TEXT    PRIMARY KEY,
  title         TEXT    NOT NULL,
  position      INTEGER NOT NULL, -- the order in which shows are listed
  comment_count BIGINT  NOT NULL DEFAULT 0,
  like_count    BIGINT  NOT NULL DEFAULT 0,
  view_count    BIGINT  NOT NULL DEFAULT 0
);

-- reservation_id says whose seat it is, while it is anyone's. The checks make a
-- seat without an owner, or a hold without an end, impossible.
CREATE TABLE seats (
  show_id         TEXT    NOT NULL REFERENCES shows (show_id),
  seat_id         TEXT    NOT NULL,
  position        INTEGER NOT NULL, -- row by row from the stage
  price           BIGINT  NOT NULL CHECK (price > 0),
  status          TEXT    NOT NULL DEFAULT 'AVAILABLE' CHECK (status IN ('AVAILABLE', 'HOLD', 'SOLD')),
  reservation_id  TEXT,
  hold_expires_at BIGINT,
  PRIMARY KEY (show_id, seat_id),
  CHECK ((status = 'AVAILABLE') = (reservation_id IS NULL)),
  CHECK ((status = 'HOLD') = (hold_expires_at IS NOT NULL))
);
CREATE INDEX seats_status ON seats (show_id, status);
CREATE INDEX seats_reservation ON seats (reservation_id) WHERE reservation_id IS NOT NULL;

CREATE TABLE reservations (
  reservation_id  TEXT   PRIMARY KEY,
  show_id         TEXT   NOT NULL REFERENCES shows (show_id),
  member_id       TEXT   NOT NULL, -- whose ticket it is now; a transfer changes it
  status          TEXT   NOT NULL CHECK (status IN ('PENDING', 'CONFIRMED', 'CANCELLED')),
  reason          TEXT   CHECK (reason IN ('USER_REQUEST', 'PAYMENT_FAILED', 'HOLD_TIMEOUT', 'REFUNDED')),
  amount          BIGINT NOT NULL CHECK (amount > 0),
  hold_expires_at BIGINT NOT NULL,
  payment_id      TEXT,            -- the payment that confirmed it
  created_at      BIGINT NOT NULL,
  confirmed_at    BIGINT,
  cancelled_at    BIGINT,
  transferred_at  BIGINT,
  CHECK ((status = 'CANCELLED') = (reason IS NOT NULL)),
  CHECK ((status = 'CANCELLED') = (cancelled_at IS NOT NULL)),
  CHECK (status <> 'CONFIRMED' OR payment_id IS NOT NULL)
);
CREATE INDEX reservations_member ON reservations (member_id, created_at);
CREATE INDEX reservations_due ON reservations (hold_expires_at) WHERE status = 'PENDING';

-- The seats of a reservation; the rows stay when others have the seats.
CREATE TABLE reservation_seats (
  reservation_id TEXT    NOT NULL REFERENCES reservations (reservation_id),
  show_id        TEXT    NOT NULL,
  seat_id        TEXT    NOT NULL,
  position       INTEGER NOT NULL,
  price          BIGINT  NOT NULL,
  PRIMARY KEY (reservation_id, seat_id),
  FOREIGN KEY (show_id, seat_id) REFERENCES seats (show_id, seat_id)
);
CREATE INDEX reservation_seats_seat ON reservation_seats (show_id, seat_id);

CREATE TABLE payments (
  payment_id      TEXT    PRIMARY KEY,
  payment_key     TEXT    NOT NULL UNIQUE, -- the client's Idempotency-Key, and the gateway's
  request_hash    TEXT    NOT NULL,        -- what the key was first used for
  member_id       TEXT    NOT NULL,
  type            TEXT    NOT NULL CHECK (type IN ('reservation', 'transfer', 'membership')),
  reference_id    TEXT    NOT NULL,        -- the reservation, transfer or membership
  reservation_id  TEXT    NOT NULL DEFAULT '', -- the reservation it is about, if any
  amount          BIGINT  NOT NULL CHECK (amount > 0),
  card            TEXT    NOT NULL,        -- which test card; never a number
  card_last4      TEXT    NOT NULL,
  status          TEXT    NOT NULL CHECK (status IN ('PROCESSING', 'SUCCESS', 'FAILED', 'REFUNDED')),
  failure_reason  TEXT,
  gateway_id      TEXT,                    -- the gateway's id of the charge
  refund_state    TEXT    NOT NULL DEFAULT 'NONE' CHECK (refund_state IN ('NONE', 'REQUESTED', 'DONE')),
  refund_reason   TEXT,
  refund_asked_at BIGINT,
  attempts        INTEGER NOT NULL DEFAULT 0, -- calls begun since the last change of state
  next_attempt_at BIGINT  NOT NULL,        -- due then; a claim moves it to the end of its lease
  lease_holder    TEXT,
  lease_token     BIGINT  NOT NULL DEFAULT 0, -- grows with every claim
  last_error      TEXT,
  created_at      BIGINT  NOT NULL,
  settled_at      BIGINT,
  refunded_at     BIGINT,
  CHECK ((status = 'PROCESSING') = (settled_at IS NULL)),
  CHECK ((status = 'REFUNDED') = (refund_state = 'DONE')),
  CHECK (refund_state <> 'REQUESTED' OR status = 'SUCCESS'),
  CHECK ((refund_state = 'NONE') = (refund_reason IS NULL)),
  CHECK ((refund_state = 'NONE') = (refund_asked_at IS NULL))
);
CREATE INDEX payments_member ON payments (member_id, created_at);
CREATE INDEX payments_reservation ON payments (reservation_id);
CREATE INDEX payments_due ON payments (next_attempt_at) WHERE status = 'PROCESSING' OR refund_state = 'REQUESTED';
-- A reservation has one payment, whatever keys its member sends: a failed one
-- ends the reservation, and so does a refund.
CREATE UNIQUE INDEX payments_one_each ON payments (reference_id) WHERE type = 'reservation';

CREATE TABLE transfers (
  transfer_id    TEXT   PRIMARY KEY,
  payment_id     TEXT   NOT NULL UNIQUE REFERENCES payments (payment_id),
  reservation_id TEXT   NOT NULL REFERENCES reservations (reservation_id),
  from_member_id TEXT   NOT NULL,
  to_member_id   TEXT   NOT NULL,
  amount         BIGINT NOT NULL,
  status         TEXT   NOT NULL CHECK (status IN ('PENDING', 'COMPLETED', 'CANCELLED')),
  reason         TEXT,
  created_at     BIGINT NOT NULL,
  settled_at     BIGINT,
  CHECK ((status = 'PENDING') = (settled_at IS NULL)),
  CHECK ((status = 'CANCELLED') = (reason IS NOT NULL))
);
CREATE UNIQUE INDEX transfers_one_live ON transfers (reservation_id) WHERE status = 'PENDING';

CREATE TABLE memberships (
  membership_id TEXT   PRIMARY KEY,
  payment_id    TEXT   NOT NULL UNIQUE REFERENCES payments (payment_id),
  member_id     TEXT   NOT NULL,
  amount        BIGINT NOT NULL,
  status        TEXT   NOT NULL CHECK (status IN ('PENDING', 'ACTIVE', 'CANCELLED')),
  created_at    BIGINT NOT NULL,
  activated_at  BIGINT,
  expires_at    BIGINT,
  CHECK ((status = 'ACTIVE') = (activated_at IS NOT NULL AND expires_at IS NOT NULL))
);
CREATE INDEX memberships_member ON memberships (member_id);

CREATE TABLE stats (
  name  TEXT   PRIMARY KEY,
  value BIGINT NOT NULL DEFAULT 0
);
INSERT INTO stats (name) VALUES
  ('reservations_created'), ('reservations_confirmed'), ('reservations_cancelled'),
  ('refund_amount'), ('transfer_amount'), ('memberships'),
  ('transfers_completed'), ('transfers_cancelled');

-- Leases of jobs that one process does at a time.
CREATE TABLE leases (
  name       TEXT   PRIMARY KEY,
  holder     TEXT   NOT NULL,
  token      BIGINT NOT NULL, -- grows with every change of holder
  expires_at BIGINT NOT NULL
);

-- One row for every time a consumer's handler took effect, written in the
-- transaction of that effect. Deliberately without a unique key: an event that
-- was handled twice must show as two rows.
CREATE TABLE effects (
  effect_id      INTEGER PRIMARY KEY AUTOINCREMENT,
  consumer_group TEXT    NOT NULL,
  event_id       TEXT    NOT NULL,
  event_type     TEXT    NOT NULL,
  aggregate_id   TEXT    NOT NULL,
  effect         TEXT    NOT NULL, -- what it did, in a word
  handled_at     BIGINT  NOT NULL
);
CREATE INDEX effects_event ON effects (consumer_group, event_id);

-- +goose Down
DROP TABLE effects;
DROP TABLE leases;
DROP TABLE stats;
DROP TABLE memberships;
DROP TABLE transfers;
DROP TABLE payments;
DROP TABLE reservation_seats;
DROP TABLE reservations;
DROP TABLE seats;
DROP TABLE shows;
DROP TABLE members;
