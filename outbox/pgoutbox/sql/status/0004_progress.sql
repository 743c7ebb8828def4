-- +goose Up
-- The lease of a shard's relay, and how far it has read, in rows that are only appended:
-- the newest one of a shard, the one with the greatest n, is valid. Each update of a row
-- would leave a dead version, and while any session of the server keeps its snapshot
-- every read passes over all of them. Rows up to swept are deleted: see sweep.sql. A
-- relay of the release before finds its table gone and fails.
CREATE TABLE outbox_event_progress (
	shard        integer     NOT NULL,
	n            bigint      NOT NULL,
	swept        bigint      NOT NULL DEFAULT -1,
	position     text        NOT NULL DEFAULT '', -- system identifier|from|to|end|last|floor
	lease_holder text        NOT NULL DEFAULT '',
	lease_token  bigint      NOT NULL DEFAULT 0,
	lease_server text        NOT NULL DEFAULT '', -- the run of the server that the lease was taken on
	lease_until  timestamptz NOT NULL DEFAULT '-infinity',
	at           timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (shard, n)
);
INSERT INTO outbox_event_progress (shard, n, position, lease_holder, lease_token, lease_server, lease_until, at)
SELECT shard, 0, position, lease_holder, lease_token, lease_server, lease_until, updated_at FROM outbox_event_leases;
DROP TABLE outbox_event_leases;

-- How far pruning came: no published row up to place is left, except of the
-- transactions in running, which had not ended then and may have written some. It is
-- written now and then, and only read when a process begins.
CREATE TABLE outbox_events_pruned (
	lane    integer     PRIMARY KEY,
	place   bigint      NOT NULL,
	running xid8[]      NOT NULL,
	at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- +goose Down
CREATE TABLE outbox_event_leases (
	shard        integer PRIMARY KEY,
	position     text    NOT NULL DEFAULT '',
	lease_holder text    NOT NULL DEFAULT '',
	lease_token  bigint  NOT NULL DEFAULT 0,
	lease_until  timestamptz NOT NULL DEFAULT '-infinity',
	updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
	lease_server text    NOT NULL DEFAULT ''
) WITH (fillfactor = 50);
INSERT INTO outbox_event_leases (shard, position, lease_token)
SELECT DISTINCT ON (shard) shard, regexp_replace(position, '^(([^|]*[|]){4}[^|]*)[|].*$', '\1'), lease_token
FROM outbox_event_progress ORDER BY shard, n DESC;
DROP TABLE outbox_events_pruned;
DROP TABLE outbox_event_progress;
