-- +goose Up
-- How often a group's cursor was started since it moved last, and which message was
-- handled alone then: this finds a message that kills its processes. And the
-- acknowledgements behind the cursor when it was released last. Names are bytes,
-- as in bus_topics.
CREATE TABLE IF NOT EXISTS bus_starts (
	consumer VARBINARY(255)  NOT NULL,
	lane     INT             NOT NULL,
	starts   INT             NOT NULL DEFAULT 0,
	message  VARBINARY(1020) NOT NULL DEFAULT '',
	times    INT             NOT NULL DEFAULT 0, -- it was handled alone
	done     MEDIUMTEXT CHARACTER SET ascii NOT NULL DEFAULT (''),
	PRIMARY KEY (consumer, lane)
) ENGINE = InnoDB;

-- +goose Down
DROP TABLE bus_starts;
