-- Gives the lease back. Returns the same columns as advance.sql.
-- $1 consumer, $2 lane, $3 token, $4 server ('' for any), $5 holder.
WITH held AS MATERIALIZED (
	SELECT * FROM (
		SELECT * FROM {{.Cursors}}_progress WHERE consumer = $1 AND lane = $2 ORDER BY n DESC LIMIT 1 FOR KEY SHARE
	) AS newest
	WHERE lease_token = $3 AND ($4 = '' OR $4 = {{server}}) AND lease_holder = $5
), moved AS (
	INSERT INTO {{.Cursors}}_progress (consumer, lane, n, swept, window_from, window_to, window_end, window_floor, last_id,
		lease_token)
	SELECT consumer, lane, n + 1, swept, window_from, window_to, window_end, window_floor, last_id, lease_token
	FROM held
	ON CONFLICT (consumer, lane, n) DO NOTHING
	RETURNING n
)
SELECT (SELECT count(*) FROM held), coalesce((SELECT n FROM moved), 0)
