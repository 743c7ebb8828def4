-- +goose Up
-- One row: how many events the relays of all processes have published.
CREATE TABLE published (
  id     INTEGER PRIMARY KEY,
  events BIGINT  NOT NULL
);
INSERT INTO published (id, events) VALUES (1, 0);

-- +goose Down
DROP TABLE published;
