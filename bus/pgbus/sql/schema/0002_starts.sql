-- +goose Up
-- How often a group's cursor was started since it moved last, and which message was
-- handled alone then: this finds a message that kills its processes. And the
-- acknowledgements behind the cursor when it was released last.
CREATE TABLE bus_starts (
	consumer text    NOT NULL,
	lane     integer NOT NULL,
	starts   integer NOT NULL DEFAULT 0,
	message  text    NOT NULL DEFAULT '',
	times    integer NOT NULL DEFAULT 0, -- it was handled alone
	done     text    NOT NULL DEFAULT '',
	PRIMARY KEY (consumer, lane)
);

-- +goose Down
DROP TABLE bus_starts;
