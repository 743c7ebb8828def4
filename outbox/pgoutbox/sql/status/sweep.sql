-- Deletes the oldest rows of a shard but for the newest 64, and appends a row that says
-- how far that came, or does nothing: rows go in the order of n, so that a row is there
-- as long as any row after it can be appended once more (see extend.sql), and none goes
-- that another transaction holds. The range begins where rows are alive, so that no
-- dead ones are passed; its ends are single values, because a join would let the planner
-- read the whole shard.
-- $1 shard.
WITH newest AS MATERIALIZED (
	SELECT * FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1 FOR KEY SHARE
), due AS MATERIALIZED (
	SELECT swept AS above, least(n - 64, swept + 512) AS upto FROM newest WHERE n - 64 > swept
), free AS MATERIALIZED (
	SELECT p.n FROM outbox_event_progress AS p
	WHERE p.shard = $1 AND p.n > (SELECT above FROM due) AND p.n <= (SELECT upto FROM due)
	FOR UPDATE SKIP LOCKED
), moved AS (
	INSERT INTO outbox_event_progress (shard, n, swept, position, lease_holder, lease_token, lease_server, lease_until)
	SELECT p.shard, p.n + 1, due.upto, p.position, p.lease_holder, p.lease_token, p.lease_server, p.lease_until
	FROM newest AS p, due
	WHERE (SELECT count(*) FROM free) = (
		SELECT count(*) FROM outbox_event_progress AS p
		WHERE p.shard = $1 AND p.n > (SELECT above FROM due) AND p.n <= (SELECT upto FROM due)
	)
	ON CONFLICT (shard, n) DO NOTHING
	RETURNING swept
)
DELETE FROM outbox_event_progress AS p
WHERE p.shard = $1 AND p.n > (SELECT above FROM due) AND p.n <= (SELECT upto FROM due) AND EXISTS (SELECT 1 FROM moved)
