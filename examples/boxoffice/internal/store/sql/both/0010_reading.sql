-- +goose Up

-- The parameters of a notification's sentence, as JSON. NULL in rows of the version
-- before, which have only the message.
ALTER TABLE notifications ADD COLUMN params TEXT;
ALTER TABLE notification_fanouts ADD COLUMN params TEXT;

-- The time and place of a show, and the currency of its prices. NULL until known.
ALTER TABLE shows ADD COLUMN venue TEXT;
ALTER TABLE shows ADD COLUMN city TEXT;
ALTER TABLE shows ADD COLUMN time_zone TEXT; -- of the venue, such as Asia/Seoul
ALTER TABLE shows ADD COLUMN doors_at BIGINT;
ALTER TABLE shows ADD COLUMN starts_at BIGINT;
ALTER TABLE shows ADD COLUMN currency TEXT NOT NULL DEFAULT 'KRW';

-- A seat belongs to the class of its price, so the two cannot disagree.
CREATE TABLE seat_classes (
  show_id TEXT NOT NULL REFERENCES shows (show_id),
  class   TEXT NOT NULL,
  price   BIGINT NOT NULL CHECK (price > 0), -- in the smallest unit of the show's currency
  PRIMARY KEY (show_id, class),
  UNIQUE (show_id, price)
);

-- Artists are mirrored on the first request, so artist_id may name one that is not in
-- the table of artists yet.
CREATE TABLE show_performers (
  show_id   TEXT NOT NULL REFERENCES shows (show_id),
  artist_id TEXT NOT NULL,
  position  INTEGER NOT NULL, -- the order in which they are billed
  PRIMARY KEY (show_id, artist_id)
);

-- +goose Down
DROP TABLE show_performers;
DROP TABLE seat_classes;
ALTER TABLE shows DROP COLUMN currency;
ALTER TABLE shows DROP COLUMN starts_at;
ALTER TABLE shows DROP COLUMN doors_at;
ALTER TABLE shows DROP COLUMN time_zone;
ALTER TABLE shows DROP COLUMN city;
ALTER TABLE shows DROP COLUMN venue;
ALTER TABLE notification_fanouts DROP COLUMN params;
ALTER TABLE notifications DROP COLUMN params;
