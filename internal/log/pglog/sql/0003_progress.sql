-- +goose Up
-- How far each cursor came, and which instance may move it. Rows are only
-- appended: the newest one of a cursor, the one with the greatest n, is valid.
-- Each update of a row would leave a dead version, and while any session of the
-- server keeps its snapshot every read passes over all of them.
-- Rows up to swept are deleted: see sweep.sql.
CREATE TABLE {{.Cursors}}_progress (
	consumer     text        NOT NULL,
	lane         integer     NOT NULL,
	n            bigint      NOT NULL,
	swept        bigint      NOT NULL DEFAULT -1,
	window_from  pg_snapshot NOT NULL DEFAULT '1:1:',
	window_to    pg_snapshot,
	window_end   bigint      NOT NULL DEFAULT 0,
	window_floor bigint      NOT NULL DEFAULT 0,
	last_id      bigint      NOT NULL DEFAULT 0,
	lease_holder text        NOT NULL DEFAULT '',
	lease_token  bigint      NOT NULL DEFAULT 0,
	lease_until  timestamptz NOT NULL DEFAULT '-infinity',
	at           timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (consumer, lane, n),
	FOREIGN KEY (consumer, lane) REFERENCES {{.Cursors}} ON DELETE CASCADE
);
INSERT INTO {{.Cursors}}_progress
	(consumer, lane, n, window_from, window_to, window_end, last_id, lease_holder, lease_token, lease_until, at)
SELECT consumer, lane, 0, window_from, window_to, window_end, last_id, lease_holder, lease_token, lease_until, updated_at
FROM {{.Cursors}};

-- The list of cursors stays. Without the columns an instance of the release before,
-- which would move the cursors here, fails instead.
ALTER TABLE {{.Cursors}}
	DROP COLUMN window_from, DROP COLUMN window_to, DROP COLUMN window_end, DROP COLUMN last_id,
	DROP COLUMN lease_holder, DROP COLUMN lease_token, DROP COLUMN lease_until, DROP COLUMN updated_at;

-- How far pruning came: no row up to place is left, except of the transactions in
-- running, which had not ended then and may have written some. It is written now and
-- then, and only read when a process begins.
CREATE TABLE {{.Messages}}_pruned (
	lane    integer     PRIMARY KEY,
	place   bigint      NOT NULL,
	running xid8[]      NOT NULL,
	at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- +goose Down
ALTER TABLE {{.Cursors}}
	ADD COLUMN window_from  pg_snapshot NOT NULL DEFAULT '1:1:',
	ADD COLUMN window_to    pg_snapshot,
	ADD COLUMN window_end   bigint      NOT NULL DEFAULT 0,
	ADD COLUMN last_id      bigint      NOT NULL DEFAULT 0,
	ADD COLUMN lease_holder text        NOT NULL DEFAULT '',
	ADD COLUMN lease_token  bigint      NOT NULL DEFAULT 0,
	ADD COLUMN lease_until  timestamptz NOT NULL DEFAULT '-infinity',
	ADD COLUMN updated_at   timestamptz NOT NULL DEFAULT clock_timestamp();
UPDATE {{.Cursors}} AS c SET
	window_from = p.window_from, window_to = p.window_to, window_end = p.window_end, last_id = p.last_id,
	lease_token = p.lease_token
FROM (SELECT DISTINCT ON (consumer, lane) * FROM {{.Cursors}}_progress ORDER BY consumer, lane, n DESC) AS p
WHERE c.consumer = p.consumer AND c.lane = p.lane;
DROP TABLE {{.Messages}}_pruned;
DROP TABLE {{.Cursors}}_progress;
