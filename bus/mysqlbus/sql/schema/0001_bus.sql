-- +goose Up
-- A topic is a range of lanes of bus_messages. Topics are never deleted, so no
-- lane is ever given to two of them. Names are bytes: text would compare equal
-- with and without spaces at its end.
CREATE TABLE IF NOT EXISTS bus_topics (
	name       VARBINARY(255) NOT NULL PRIMARY KEY,
	first_lane INT            NOT NULL UNIQUE,
	partitions INT            NOT NULL,
	retention  BIGINT         NOT NULL DEFAULT 0, -- microseconds; 0 means the default
	created_at DATETIME(6)    NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB;

-- One row, locked while a topic is made.
CREATE TABLE IF NOT EXISTS bus_turn (
	id   INT    NOT NULL PRIMARY KEY,
	turn BIGINT NOT NULL
) ENGINE = InnoDB;
INSERT IGNORE INTO bus_turn VALUES (1, 0);

-- The members of a group, in the order they joined. A member that does not renew
-- counts as gone after live_until.
CREATE TABLE IF NOT EXISTS bus_members (
	id         BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
	topic      VARBINARY(255) NOT NULL,
	consumer   VARBINARY(255) NOT NULL,
	member     VARBINARY(255) NOT NULL,
	live_until DATETIME(6)    NOT NULL,
	UNIQUE (topic, consumer, member),
	INDEX bus_members_live (live_until)
) ENGINE = InnoDB;

-- +goose Down
DROP TABLE bus_members;
DROP TABLE bus_turn;
DROP TABLE bus_topics;
