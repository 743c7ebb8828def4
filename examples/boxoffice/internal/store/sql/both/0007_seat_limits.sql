-- +goose Up

-- How many seats of a show one member may hold at once, and buy.
ALTER TABLE shows ADD COLUMN max_held INTEGER NOT NULL DEFAULT 6 CHECK (max_held > 0);
ALTER TABLE shows ADD COLUMN max_bought INTEGER NOT NULL DEFAULT 6 CHECK (max_bought > 0);
CREATE INDEX reservations_of_show ON reservations (member_id, show_id, status);

-- +goose Down
DROP INDEX reservations_of_show;
ALTER TABLE shows DROP COLUMN max_bought;
ALTER TABLE shows DROP COLUMN max_held;
