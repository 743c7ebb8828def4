-- +goose Up
-- Members of the release that kept its progress in bus_cursors write no progress here,
-- and take no part: they cannot take a lane any more.
ALTER TABLE bus_members ADD COLUMN progress integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE bus_members DROP COLUMN progress;
