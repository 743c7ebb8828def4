-- Opens the window between the snapshot a cursor covers and now, and reads its
-- first rows by id. The statement's own snapshot is the window's upper end. The
-- first row returned is about the window:
--   snapshot|next xid|highest id handed out|end|floor|bound|another server
--
-- The window has two parts. Rows of transactions that began since the covered
-- snapshot lie above the floor, which was the highest id then. Rows of each transaction
-- that was running then are a range of their own in the index of xids. Rows of running
-- and of rolled-back transactions are not looked at.
--
-- The planner is to walk an index in its order, up to the limit. Where it expects few
-- rows it would rather sort all there are, and it expects few between two bounds, and
-- above the highest id it has heard of. So the bounds are values that it does not know,
-- and one is a comparison of pairs, which it does not take for a bound of the other.
-- Pairs of xid and id fit one index only. And it takes "<> 0" for a condition that most
-- rows meet, which is so.
--
-- Each CTE is read in turn: the snapshot comes first, then the highest id, then the
-- next xid. So a transaction with that xid or a later one has higher ids only.
-- Asking for the age of an xid reads the counter and takes nothing from it.
--
-- The text is planned each time, so parts that are not needed are left out: without
-- "full" no transaction was running, and the floor is known.
-- $1 lane, $2 the first xid of those that began since, $3 floor (-1: not known, and
-- returned when it is above the highest id), $4 rows, $5 ids at most, $6 server;
-- full: $7 the xids that were running.
WITH taken AS MATERIALIZED (
	SELECT last_value - (NOT is_called)::integer AS highest FROM {{.Messages}}_ids
), here AS MATERIALIZED (
	SELECT highest, pg_current_snapshot() AS upto,
		pg_snapshot_xmax(pg_current_snapshot())::text::bigint + age(pg_snapshot_xmax(pg_current_snapshot())::xid) AS next
	FROM taken
), found AS MATERIALIZED (
	SELECT highest, upto, next,
		coalesce((SELECT id FROM {{.Messages}} WHERE lane = $1 AND id > highest ORDER BY id DESC LIMIT 1), highest) AS ends,
		CASE WHEN $3::bigint BETWEEN 0 AND highest THEN $3::bigint
		ELSE {{if full}}coalesce((SELECT min(id) - 1 FROM (
			SELECT id FROM {{.Messages}} WHERE lane = $1 AND xid >= $2::xid8 AND xid <= '18446744073709551615' OFFSET 0
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
SELECT '', id, topic, message_id, message_key, headers, payload, created_at FROM (
	SELECT * FROM (
		SELECT id, topic, message_id, message_key, headers, payload, created_at FROM {{.Messages}}
		WHERE lane = $1 AND (id, 0) > ((SELECT floor FROM opened), 0) AND id <= (SELECT bound FROM opened)
			AND (xid >= $2::xid8)::integer <> 0
			AND pg_visible_in_snapshot(xid, (SELECT upto FROM opened))::integer <> 0
		ORDER BY id LIMIT $4
	) AS new
{{- if full}}
	UNION ALL
	SELECT * FROM (
		SELECT m.* FROM late CROSS JOIN LATERAL (
			SELECT id, topic, message_id, message_key, headers, payload, created_at FROM {{.Messages}}
			WHERE lane = $1 AND (xid, id) > (running, 0)
				AND (xid, id) <= (running, (SELECT bound FROM opened))
			ORDER BY xid, id LIMIT $4
		) AS m
		ORDER BY id LIMIT $4
	) AS old
	ORDER BY id LIMIT $4
{{- end}}
) AS fresh
