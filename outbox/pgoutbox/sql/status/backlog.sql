-- Pending events, counted up to $2 rows: those that the position does not cover, and
-- those aside; the oldest of them; how many stand aside; how many have failed. The file
-- of this name in package pglog explains the parts that are not covered.
-- $1 shard, $2 rows, $3 xmax of the covered snapshot, $4 its in-progress ids; of the
-- open window: $5 and $6 the same of its lower snapshot, $7 its upper snapshot,
-- $8 floor, $9 after seq, $10 up to seq (0 when no window is open).
WITH waiting AS (
	SELECT created_at FROM (
		SELECT created_at FROM outbox_events
		WHERE shard = $1 AND (seq, 0) > ((SELECT greatest($8::bigint, $9::bigint)), 0) AND seq <= (SELECT $10::bigint)
			AND (xid >= $5::text::xid8)::integer <> 0
			AND pg_visible_in_snapshot(xid, $7::text::pg_snapshot)::integer <> 0
			AND (state <> 'PENDING' OR aside)::integer <> 1
		ORDER BY seq LIMIT $2
	) AS rest
	UNION ALL
	SELECT created_at FROM (
		SELECT running FROM unnest($6::text::xid8[]) AS running
		WHERE CASE WHEN pg_visible_in_snapshot(running, $7::text::pg_snapshot) AND running < pg_snapshot_xmax(pg_current_snapshot())
			THEN pg_xact_status(running) IS DISTINCT FROM 'aborted' END
		OFFSET 0
	) AS late CROSS JOIN LATERAL (
		SELECT created_at FROM outbox_events
		WHERE shard = $1 AND (xid, seq) > (running, $9::bigint)
			AND (xid, seq) <= (running, $10::bigint)
			AND (state <> 'PENDING' OR aside)::integer <> 1
		ORDER BY xid, seq LIMIT $2
	) AS m
	UNION ALL
	SELECT created_at FROM (
		SELECT running FROM unnest($4::text::xid8[]) AS running
		WHERE CASE WHEN pg_visible_in_snapshot(running, pg_current_snapshot())
			THEN pg_xact_status(running) IS DISTINCT FROM 'aborted' END
		OFFSET 0
	) AS late CROSS JOIN LATERAL (
		SELECT created_at FROM outbox_events
		WHERE shard = $1 AND (xid, seq) > (running, 0)
			AND (xid, seq) <= (running, 9223372036854775807)
			AND (state <> 'PENDING' OR aside)::integer <> 1
		ORDER BY xid, seq LIMIT $2
	) AS m
	UNION ALL
	SELECT created_at FROM (
		SELECT created_at FROM outbox_events
		WHERE shard = $1 AND (xid, seq) > ((SELECT $3::text::xid8), 0)
			AND (state <> 'PENDING' OR aside)::integer <> 1
		ORDER BY xid, seq LIMIT $2
	) AS new
	LIMIT $2
), failing AS (
	SELECT count(*) FILTER (WHERE aside) AS aside, count(*) FILTER (WHERE attempts > 0) AS failing,
		min(created_at) FILTER (WHERE aside) AS oldest
	FROM outbox_events WHERE shard = $1 AND state = 'PENDING' AND (aside OR attempts > 0)
), counted AS (
	SELECT count(*) AS n, min(created_at) AS oldest FROM waiting
)
SELECT c.n + f.aside, coalesce((extract(epoch FROM least(c.oldest, f.oldest)) * 1000000)::bigint, 0), f.aside, f.failing
FROM counted AS c CROSS JOIN failing AS f
