-- Reads on in an open window; open_window.sql says why the conditions look so. The
-- first row returned has the server, if it is another one.
--
-- A transaction that this server has not begun is one of another server.
-- $1 lane, $2 the first xid of those that began since the covered snapshot, $3 the
-- window's upper snapshot, $4 floor, $5 after id, $6 up to id, $7 rows, $8 server;
-- full: $9 the xids that were running.
{{- if full}}
WITH late AS MATERIALIZED (
	SELECT running FROM unnest($9::xid8[]) AS running
	WHERE CASE WHEN pg_visible_in_snapshot(running, $3::pg_snapshot) AND running < pg_snapshot_xmax(pg_current_snapshot())
		THEN pg_xact_status(running) IS DISTINCT FROM 'aborted' END
)
{{- end}}
SELECT coalesce(nullif({{server}}, $8::text), ''), 0::bigint, '', '', '', '', ''::bytea, 'epoch'::timestamptz
UNION ALL
SELECT '', id, topic, message_id, message_key, headers, payload, created_at FROM (
	SELECT * FROM (
		SELECT id, topic, message_id, message_key, headers, payload, created_at FROM {{.Messages}}
		WHERE lane = $1 AND (id, 0) > ((SELECT greatest($4::bigint, $5::bigint)), 0) AND id <= (SELECT $6::bigint)
			AND (xid >= $2::xid8)::integer <> 0
			AND pg_visible_in_snapshot(xid, $3::pg_snapshot)::integer <> 0
		ORDER BY id LIMIT $7
	) AS new
{{- if full}}
	UNION ALL
	SELECT * FROM (
		SELECT m.* FROM late CROSS JOIN LATERAL (
			SELECT id, topic, message_id, message_key, headers, payload, created_at FROM {{.Messages}}
			WHERE lane = $1 AND (xid, id) > (running, $5::bigint)
				AND (xid, id) <= (running, $6::bigint)
			ORDER BY xid, id LIMIT $7
		) AS m
		ORDER BY id LIMIT $7
	) AS old
	ORDER BY id LIMIT $7
{{- end}}
) AS fresh
