-- Opens the window between the snapshot that a position covers and now, and reads
-- its first pending rows by seq. It is the statement of package pglog, whose file of
-- this name explains it, for this table. For a state that few rows have the planner
-- would rather sort all of them than walk an index: it takes "<> 1" for a condition
-- that most rows meet.
-- $1 shard, $2 the first xid of those that began since, $3 floor (-1: not known, and
-- returned when it is above the highest id), $4 rows, $5 ids at most, $6 server;
-- full: $7 the xids that were running.
WITH taken AS MATERIALIZED (
	SELECT last_value - (NOT is_called)::integer AS highest FROM outbox_events_ids
), here AS MATERIALIZED (
	SELECT highest, pg_current_snapshot() AS upto,
		pg_snapshot_xmax(pg_current_snapshot())::text::bigint + age(pg_snapshot_xmax(pg_current_snapshot())::xid) AS next
	FROM taken
), found AS MATERIALIZED (
	SELECT highest, upto, next,
		coalesce((SELECT seq FROM outbox_events WHERE shard = $1 AND seq > highest ORDER BY seq DESC LIMIT 1), highest) AS ends,
		CASE WHEN $3::bigint BETWEEN 0 AND highest THEN $3::bigint
		ELSE {{if full}}coalesce((SELECT min(seq) - 1 FROM (
			SELECT seq FROM outbox_events WHERE shard = $1 AND xid >= $2::xid8 AND xid <= '18446744073709551615' OFFSET 0
		) AS since), highest){{else}}-1{{end}} END AS floor
	FROM here
), opened AS MATERIALIZED (
	SELECT highest, upto, next, ends, floor, least(ends, floor + $5::bigint) AS bound FROM found
{{- if full}}
), late AS MATERIALIZED (
	SELECT running FROM unnest($7::xid8[]) AS running
	WHERE CASE WHEN pg_visible_in_snapshot(running, (SELECT upto FROM opened))
		THEN pg_xact_status(running) IS DISTINCT FROM 'aborted' END
{{- end}}
)
SELECT concat_ws('|', upto, next, highest, ends, floor, bound, coalesce(nullif({{server}}, $6::text), '')),
	0::bigint, '', '', '', '', ''::bytea, 'epoch'::timestamptz
FROM opened
UNION ALL
SELECT '', seq, topic, id::text, event_key, headers, payload, created_at FROM (
	SELECT * FROM (
		SELECT seq, topic, id, event_key, headers, payload, created_at FROM outbox_events
		WHERE shard = $1 AND (seq, 0) > ((SELECT floor FROM opened), 0) AND seq <= (SELECT bound FROM opened)
			AND (xid >= $2::xid8)::integer <> 0
			AND pg_visible_in_snapshot(xid, (SELECT upto FROM opened))::integer <> 0
			AND (state <> 'PENDING' OR aside)::integer <> 1
		ORDER BY seq LIMIT $4
	) AS new
{{- if full}}
	UNION ALL
	SELECT * FROM (
		SELECT m.* FROM late CROSS JOIN LATERAL (
			SELECT seq, topic, id, event_key, headers, payload, created_at FROM outbox_events
			WHERE shard = $1 AND (xid, seq) > (running, 0)
				AND (xid, seq) <= (running, (SELECT bound FROM opened))
				AND (state <> 'PENDING' OR aside)::integer <> 1
			ORDER BY xid, seq LIMIT $4
		) AS m
		ORDER BY seq LIMIT $4
	) AS old
	ORDER BY seq LIMIT $4
{{- end}}
) AS fresh
