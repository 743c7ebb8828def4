-- +goose Up
-- A topic is a range of lanes of bus_messages. Topics are never deleted, so no
-- lane is ever given to two of them.
CREATE TABLE bus_topics (
	name       text        PRIMARY KEY,
	first_lane integer     NOT NULL UNIQUE,
	partitions integer     NOT NULL,
	retention  bigint      NOT NULL DEFAULT 0, -- microseconds; 0 means the default
	created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The members of a group, in the order they joined. A member that does not renew
-- counts as gone after live_until.
CREATE TABLE bus_members (
	id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	topic      text        NOT NULL,
	consumer   text        NOT NULL,
	member     text        NOT NULL,
	live_until timestamptz NOT NULL,
	UNIQUE (topic, consumer, member)
);

-- +goose Down
DROP TABLE bus_members;
DROP TABLE bus_topics;
