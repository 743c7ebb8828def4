-- The rows after a position, counted up to $2, and the oldest of them: the rest of its
-- window, then the rows committed since, of the transactions that were running and of
-- those that began later.
--
-- Each part is a range in an index that is walked in its order; open_window.sql says
-- why the conditions look so.
-- $1 lane, $2 rows at most, $3 xmax of the covered snapshot, $4 its in-progress ids;
-- of the open window: $5 and $6 the same of its lower snapshot, $7 its upper
-- snapshot, $8 floor, $9 after id, $10 up to id (0 when no window is open).
WITH waiting AS (
	SELECT created_at FROM (
		SELECT created_at FROM {{.Messages}}
		WHERE lane = $1 AND (id, 0) > ((SELECT greatest($8::bigint, $9::bigint)), 0) AND id <= (SELECT $10::bigint)
			AND (xid >= $5::xid8)::integer <> 0
			AND pg_visible_in_snapshot(xid, $7::pg_snapshot)::integer <> 0
		ORDER BY id LIMIT $2
	) AS rest
	UNION ALL
	SELECT created_at FROM (
		SELECT running FROM unnest($6::xid8[]) AS running
		WHERE CASE WHEN pg_visible_in_snapshot(running, $7::pg_snapshot) AND running < pg_snapshot_xmax(pg_current_snapshot())
			THEN pg_xact_status(running) IS DISTINCT FROM 'aborted' END
		OFFSET 0
	) AS late CROSS JOIN LATERAL (
		SELECT created_at FROM {{.Messages}}
		WHERE lane = $1 AND (xid, id) > (running, $9::bigint)
			AND (xid, id) <= (running, $10::bigint)
		ORDER BY xid, id LIMIT $2
	) AS m
	UNION ALL
	SELECT created_at FROM (
		SELECT running FROM unnest($4::xid8[]) AS running
		WHERE CASE WHEN pg_visible_in_snapshot(running, pg_current_snapshot())
			THEN pg_xact_status(running) IS DISTINCT FROM 'aborted' END
		OFFSET 0
	) AS late CROSS JOIN LATERAL (
		SELECT created_at FROM {{.Messages}}
		WHERE lane = $1 AND (xid, id) > (running, 0)
			AND (xid, id) <= (running, 9223372036854775807)
		ORDER BY xid, id LIMIT $2
	) AS m
	UNION ALL
	SELECT created_at FROM (
		SELECT created_at FROM {{.Messages}}
		WHERE lane = $1 AND (xid, id) > ((SELECT $3::xid8), 0)
		ORDER BY xid, id LIMIT $2
	) AS new
	LIMIT $2
)
SELECT count(*), min(created_at) FROM waiting
