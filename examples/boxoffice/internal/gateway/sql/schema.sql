-- The ledger: one row for each idempotency key, for ever. key is deliberately
-- unique here and counted again by GET /ledger, so that an auditor need not
-- trust the constraint.
CREATE TABLE IF NOT EXISTS charges (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  key         TEXT    NOT NULL UNIQUE,
  id          TEXT    NOT NULL UNIQUE,
  fingerprint TEXT    NOT NULL,           -- what the key was first used for
  amount      INTEGER NOT NULL CHECK (amount > 0),
  card_last4  TEXT    NOT NULL,
  reference   TEXT    NOT NULL,
  status      TEXT    NOT NULL CHECK (status IN ('APPROVED', 'DECLINED', 'PENDING')),
  reason      TEXT    NOT NULL,
  settle_at   INTEGER NOT NULL,           -- Unix milliseconds; 0 when it was settled at once
  created_at  INTEGER NOT NULL,
  settled_at  INTEGER NOT NULL,           -- 0 while PENDING
  refunded_at INTEGER NOT NULL DEFAULT 0  -- 0 while not refunded
) STRICT;

CREATE INDEX IF NOT EXISTS charges_unsettled ON charges (settle_at) WHERE status = 'PENDING';
CREATE INDEX IF NOT EXISTS charges_reference ON charges (reference) WHERE status = 'APPROVED';
