-- +goose Up

CREATE TABLE members (
  member_id  VARCHAR(128) PRIMARY KEY,
  created_at BIGINT NOT NULL -- all times are Unix milliseconds by the database's clock
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE shows (
  show_id       VARCHAR(128) PRIMARY KEY,
  title         VARCHAR(128) NOT NULL,
  position      INTEGER NOT NULL, -- the order in which shows are listed
  comment_count BIGINT  NOT NULL DEFAULT 0,
  like_count    BIGINT  NOT NULL DEFAULT 0,
  view_count    BIGINT  NOT NULL DEFAULT 0
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- reservation_id says whose seat it is, while it is anyone's. The checks make a
-- seat without an owner, or a hold without an end, impossible.
CREATE TABLE seats (
  show_id         VARCHAR(128) NOT NULL,
  seat_id         VARCHAR(128) NOT NULL,
  position        INTEGER NOT NULL, -- row by row from the stage
  price           BIGINT  NOT NULL CHECK (price > 0),
  status          VARCHAR(128) NOT NULL DEFAULT 'AVAILABLE' CHECK (status IN ('AVAILABLE', 'HOLD', 'SOLD')),
  reservation_id  VARCHAR(128),
  hold_expires_at BIGINT,
  PRIMARY KEY (show_id, seat_id),
  CHECK ((status = 'AVAILABLE') = (reservation_id IS NULL)),
  CHECK ((status = 'HOLD') = (hold_expires_at IS NOT NULL)),
  FOREIGN KEY (show_id) REFERENCES shows (show_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX seats_status ON seats (show_id, status);
CREATE INDEX seats_reservation ON seats (reservation_id);

CREATE TABLE reservations (
  reservation_id  VARCHAR(128) PRIMARY KEY,
  show_id         VARCHAR(128) NOT NULL,
  member_id       VARCHAR(128) NOT NULL, -- whose ticket it is now; a transfer changes it
  status          VARCHAR(128) NOT NULL CHECK (status IN ('PENDING', 'CONFIRMED', 'CANCELLED')),
  reason          VARCHAR(128) CHECK (reason IN ('USER_REQUEST', 'PAYMENT_FAILED', 'HOLD_TIMEOUT', 'REFUNDED')),
  amount          BIGINT NOT NULL CHECK (amount > 0),
  hold_expires_at BIGINT NOT NULL,
  payment_id      VARCHAR(128),            -- the payment that confirmed it
  created_at      BIGINT NOT NULL,
  confirmed_at    BIGINT,
  cancelled_at    BIGINT,
  transferred_at  BIGINT,
  CHECK ((status = 'CANCELLED') = (reason IS NOT NULL)),
  CHECK ((status = 'CANCELLED') = (cancelled_at IS NOT NULL)),
  CHECK (status <> 'CONFIRMED' OR payment_id IS NOT NULL),
  FOREIGN KEY (show_id) REFERENCES shows (show_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX reservations_member ON reservations (member_id, created_at);
CREATE INDEX reservations_due ON reservations (status, hold_expires_at);

-- The seats of a reservation; the rows stay when others have the seats.
CREATE TABLE reservation_seats (
  reservation_id VARCHAR(128) NOT NULL,
  show_id        VARCHAR(128) NOT NULL,
  seat_id        VARCHAR(128) NOT NULL,
  position       INTEGER NOT NULL,
  price          BIGINT  NOT NULL,
  PRIMARY KEY (reservation_id, seat_id),
  FOREIGN KEY (show_id, seat_id) REFERENCES seats (show_id, seat_id),
  FOREIGN KEY (reservation_id) REFERENCES reservations (reservation_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX reservation_seats_seat ON reservation_seats (show_id, seat_id);

CREATE TABLE payments (
  payment_id      VARCHAR(128) PRIMARY KEY,
  payment_key     VARCHAR(255) NOT NULL UNIQUE, -- the client's Idempotency-Key, and the gateway's
  request_hash    VARCHAR(128) NOT NULL,        -- what the key was first used for
  member_id       VARCHAR(128) NOT NULL,
  type            VARCHAR(128) NOT NULL CHECK (type IN ('reservation', 'transfer', 'membership')),
  reference_id    VARCHAR(128) NOT NULL,        -- the reservation, transfer or membership
  reservation_id  VARCHAR(128) NOT NULL DEFAULT '', -- the reservation it is about, if any
  amount          BIGINT  NOT NULL CHECK (amount > 0),
  card            VARCHAR(128) NOT NULL,        -- which test card; never a number
  card_last4      VARCHAR(128) NOT NULL,
  status          VARCHAR(128) NOT NULL CHECK (status IN ('PROCESSING', 'SUCCESS', 'FAILED', 'REFUNDED')),
  failure_reason  VARCHAR(128),
  gateway_id      VARCHAR(128),                    -- the gateway's id of the charge
  refund_state    VARCHAR(128) NOT NULL DEFAULT 'NONE' CHECK (refund_state IN ('NONE', 'REQUESTED', 'DONE')),
  refund_reason   VARCHAR(128),
  refund_asked_at BIGINT,
  attempts        INTEGER NOT NULL DEFAULT 0, -- calls begun since the last change of state
  next_attempt_at BIGINT  NOT NULL,        -- due then; a claim moves it to the end of its lease
  lease_holder    VARCHAR(128),
  lease_token     BIGINT  NOT NULL DEFAULT 0, -- grows with every claim
  last_error      VARCHAR(512),
  created_at      BIGINT  NOT NULL,
  settled_at      BIGINT,
  refunded_at     BIGINT,
  -- A reservation has one payment, whatever keys its member sends: a failed one
  -- ends the reservation, and so does a refund.
  only_for        VARCHAR(128) AS (CASE WHEN type = 'reservation' THEN reference_id END) STORED UNIQUE,
  CHECK ((status = 'PROCESSING') = (settled_at IS NULL)),
  CHECK ((status = 'REFUNDED') = (refund_state = 'DONE')),
  CHECK (refund_state <> 'REQUESTED' OR status = 'SUCCESS'),
  CHECK ((refund_state = 'NONE') = (refund_reason IS NULL)),
  CHECK ((refund_state = 'NONE') = (refund_asked_at IS NULL))
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX payments_member ON payments (member_id, created_at);
CREATE INDEX payments_reservation ON payments (reservation_id);
-- There are no partial indexes: these two are merged to find the due ones.
CREATE INDEX payments_processing ON payments (status, next_attempt_at);
CREATE INDEX payments_refunding ON payments (refund_state, next_attempt_at);

CREATE TABLE transfers (
  transfer_id    VARCHAR(128) PRIMARY KEY,
  payment_id     VARCHAR(128) NOT NULL UNIQUE,
  reservation_id VARCHAR(128) NOT NULL,
  from_member_id VARCHAR(128) NOT NULL,
  to_member_id   VARCHAR(128) NOT NULL,
  amount         BIGINT NOT NULL,
  status         VARCHAR(128) NOT NULL CHECK (status IN ('PENDING', 'COMPLETED', 'CANCELLED')),
  reason         VARCHAR(128),
  created_at     BIGINT NOT NULL,
  settled_at     BIGINT,
  live_for       VARCHAR(128) AS (CASE WHEN status = 'PENDING' THEN reservation_id END) STORED UNIQUE,
  CHECK ((status = 'PENDING') = (settled_at IS NULL)),
  CHECK ((status = 'CANCELLED') = (reason IS NOT NULL)),
  FOREIGN KEY (payment_id) REFERENCES payments (payment_id),
  FOREIGN KEY (reservation_id) REFERENCES reservations (reservation_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE memberships (
  membership_id VARCHAR(128) PRIMARY KEY,
  payment_id    VARCHAR(128) NOT NULL UNIQUE,
  member_id     VARCHAR(128) NOT NULL,
  amount        BIGINT NOT NULL,
  status        VARCHAR(128) NOT NULL CHECK (status IN ('PENDING', 'ACTIVE', 'CANCELLED')),
  created_at    BIGINT NOT NULL,
  activated_at  BIGINT,
  expires_at    BIGINT,
  CHECK ((status = 'ACTIVE') = (activated_at IS NOT NULL AND expires_at IS NOT NULL)),
  FOREIGN KEY (payment_id) REFERENCES payments (payment_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX memberships_member ON memberships (member_id);

CREATE TABLE stats (
  name  VARCHAR(128) PRIMARY KEY,
  value BIGINT NOT NULL DEFAULT 0
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO stats (name) VALUES
  ('reservations_created'), ('reservations_confirmed'), ('reservations_cancelled'),
  ('refund_amount'), ('transfer_amount'), ('memberships'),
  ('transfers_completed'), ('transfers_cancelled');

-- Leases of jobs that one process does at a time.
CREATE TABLE leases (
  name       VARCHAR(128) PRIMARY KEY,
  holder     VARCHAR(128) NOT NULL,
  token      BIGINT NOT NULL, -- grows with every change of holder
  expires_at BIGINT NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row for every time a consumer's handler took effect, written in the
-- transaction of that effect. Deliberately without a unique key: an event that
-- was handled twice must show as two rows.
CREATE TABLE effects (
  effect_id      BIGINT  NOT NULL AUTO_INCREMENT PRIMARY KEY,
  consumer_group VARCHAR(128) NOT NULL,
  event_id       VARCHAR(128) NOT NULL,
  event_type     VARCHAR(128) NOT NULL,
  aggregate_id   VARCHAR(128) NOT NULL,
  effect         VARCHAR(128) NOT NULL, -- what it did, in a word
  handled_at     BIGINT  NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
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
