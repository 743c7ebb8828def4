-- +goose Up
-- A topic is a range of lanes of bus_messages. Topics are never deleted, so no
-- lane is ever given to two of them.
CREATE TABLE bus_topics (
	name       TEXT    PRIMARY KEY,
	first_lane INTEGER NOT NULL UNIQUE,
	partitions INTEGER NOT NULL,
	retention  INTEGER NOT NULL DEFAULT 0, -- microseconds; 0 means the default
	created_at INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)
) WITHOUT ROWID;

-- The members of a group, in the order they joined. A member that does not renew
-- counts as gone after live_until (microseconds since 1970).
CREATE TABLE bus_members (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	topic      TEXT    NOT NULL,
	consumer   TEXT    NOT NULL,
	member     TEXT    NOT NULL,
	live_until INTEGER NOT NULL,
	UNIQUE (topic, consumer, member)
);

-- +goose Down
DROP TABLE bus_members;
DROP TABLE bus_topics;
