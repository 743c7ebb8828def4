-- +goose Up
-- How often a group's cursor was started since it moved last, and which message was
-- handled alone then: this finds a message that kills its processes. And the
-- acknowledgements behind the cursor when it was released last.
CREATE TABLE bus_starts (
	consumer TEXT    NOT NULL,
	lane     INTEGER NOT NULL,
	starts   INTEGER NOT NULL DEFAULT 0,
	message  TEXT    NOT NULL DEFAULT '',
	times    INTEGER NOT NULL DEFAULT 0, -- it was handled alone
	done     TEXT    NOT NULL DEFAULT '',
	PRIMARY KEY (consumer, lane)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE bus_starts;
