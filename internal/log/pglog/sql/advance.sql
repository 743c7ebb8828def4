-- Moves the cursor and extends the lease: appends a row, as lease.sql does. The row to
-- which it moves must be there; where it stands already, that row may have been deleted.
-- Returns whether the lease is held at one of the two positions, and the row's n, 0 when
-- another statement of the holder appended first.
-- $1 consumer, $2 lane, $3 token, $4 server ('' for any), $5 seconds; where the cursor
-- stands: $6 from, $7 to ('' for none), $8 end, $9 last id; where it is to stand:
-- $10 from, $11 to, $12 end, $13 last id, $14 floor.
WITH held AS MATERIALIZED (
	SELECT n, swept, lease_holder FROM (
		SELECT * FROM {{.Cursors}}_progress WHERE consumer = $1 AND lane = $2 ORDER BY n DESC LIMIT 1 FOR KEY SHARE
	) AS newest
	WHERE lease_token = $3 AND ($4 = '' OR $4 = {{server}})
		AND ((window_from::text, coalesce(window_to::text, ''), window_end, last_id)
				= ($10::pg_snapshot::text, coalesce(nullif($11, '')::pg_snapshot::text, ''), $12::bigint, $13::bigint)
			OR (window_from::text, coalesce(window_to::text, ''), window_end, last_id)
				= ($6::pg_snapshot::text, coalesce(nullif($7, '')::pg_snapshot::text, ''), $8::bigint, $9::bigint)
			AND ($13 = 0 OR EXISTS (SELECT 1 FROM {{.Messages}} WHERE lane = $2 AND id = $13)))
), moved AS (
	INSERT INTO {{.Cursors}}_progress (consumer, lane, n, swept, window_from, window_to, window_end, window_floor, last_id,
		lease_holder, lease_token, lease_until)
	SELECT $1, $2, n + 1, swept, $10, nullif($11, '')::pg_snapshot, $12, $14, $13,
		lease_holder, $3, clock_timestamp() + make_interval(secs => $5)
	FROM held
	ON CONFLICT (consumer, lane, n) DO NOTHING
	RETURNING n
)
SELECT (SELECT count(*) FROM held), coalesce((SELECT n FROM moved), 0)
