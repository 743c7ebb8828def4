-- Deletes the oldest rows of a cursor but for the newest 64, and appends a row that
-- says how far that came, or does nothing: rows go in the order of n, so that a row is
-- there as long as any row after it can be appended once more (see lease.sql), and
-- none goes that another transaction holds. The range begins where rows are alive,
-- so that no dead ones are passed; its ends are single values, because a join would
-- let the planner read the whole cursor.
-- $1 consumer, $2 lane.
WITH newest AS MATERIALIZED (
	SELECT * FROM {{.Cursors}}_progress WHERE consumer = $1 AND lane = $2 ORDER BY n DESC LIMIT 1 FOR KEY SHARE
), due AS MATERIALIZED (
	SELECT swept AS above, least(n - 64, swept + 512) AS upto FROM newest WHERE n - 64 > swept
), free AS MATERIALIZED (
	SELECT p.n FROM {{.Cursors}}_progress AS p
	WHERE p.consumer = $1 AND p.lane = $2 AND p.n > (SELECT above FROM due) AND p.n <= (SELECT upto FROM due)
	FOR UPDATE SKIP LOCKED
), moved AS (
	INSERT INTO {{.Cursors}}_progress (consumer, lane, n, swept, window_from, window_to, window_end, window_floor, last_id,
		lease_holder, lease_token, lease_until)
	SELECT p.consumer, p.lane, p.n + 1, due.upto, p.window_from, p.window_to, p.window_end, p.window_floor, p.last_id,
		p.lease_holder, p.lease_token, p.lease_until
	FROM newest AS p, due
	WHERE (SELECT count(*) FROM free) = (
		SELECT count(*) FROM {{.Cursors}}_progress AS p
		WHERE p.consumer = $1 AND p.lane = $2 AND p.n > (SELECT above FROM due) AND p.n <= (SELECT upto FROM due)
	)
	ON CONFLICT (consumer, lane, n) DO NOTHING
	RETURNING swept
)
DELETE FROM {{.Cursors}}_progress AS p
WHERE p.consumer = $1 AND p.lane = $2 AND p.n > (SELECT above FROM due) AND p.n <= (SELECT upto FROM due) AND EXISTS (SELECT 1 FROM moved)
