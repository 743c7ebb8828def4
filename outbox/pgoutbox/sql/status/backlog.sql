-- What is pending, counted up to $2 rows: what the position does not cover, and
-- what stands aside; the oldest of it; how many stand aside; how many have failed.
-- open_window.sql says why the conditions on the state look so.
-- $1 shard, $2 rows, $3 xmax of the covered snapshot, $4 its in-progress ids.
WITH waiting AS (
	SELECT count(*) AS n, min(created_at) AS oldest FROM (
		SELECT created_at FROM outbox_events
		WHERE shard = $1 AND xid >= $3::text::xid8 AND (state <> 'PENDING' OR aside)::integer <> 1
		UNION ALL
		SELECT created_at FROM outbox_events
		WHERE shard = $1 AND xid = ANY ($4::text::xid8[]) AND (state <> 'PENDING' OR aside)::integer <> 1
		LIMIT $2
	) AS counted
), failing AS (
	SELECT count(*) FILTER (WHERE aside) AS aside, count(*) FILTER (WHERE attempts > 0) AS failing,
		min(created_at) FILTER (WHERE aside) AS oldest
	FROM outbox_events WHERE shard = $1 AND state = 'PENDING' AND (aside OR attempts > 0)
)
SELECT w.n + f.aside, coalesce((extract(epoch FROM least(w.oldest, f.oldest)) * 1000000)::bigint, 0), f.aside, f.failing
FROM waiting AS w CROSS JOIN failing AS f
