-- Deletes rows behind the place of transactions that were running when the place
-- went past them, under the conditions of prune.sql. Returns how many, and which of
-- the transactions are to be looked at again.
-- $1 lane, $2 older than, $3 rows at most, $4 place, $5 the transactions.
WITH cursors AS MATERIALIZED (
	SELECT coalesce(p.window_from, '1:1:') AS covers, c.system_id <> here.system_identifier AS foreign_system
	FROM pg_control_system() AS here CROSS JOIN {{.Cursors}} AS c
	LEFT JOIN LATERAL (
		SELECT window_from FROM {{.Cursors}}_progress AS p
		WHERE p.consumer = c.consumer AND p.lane = c.lane ORDER BY p.n DESC LIMIT 1
	) AS p ON true
	WHERE c.lane = $1
), late AS MATERIALIZED (
	SELECT ran.xid, m.id, created_at >= $2 OR EXISTS (
		SELECT 1 FROM cursors AS c WHERE c.foreign_system OR NOT pg_visible_in_snapshot(ran.xid, c.covers)
	) AS kept
	FROM unnest($5::text::xid8[]) AS ran(xid) CROSS JOIN LATERAL (
		SELECT id, created_at FROM {{.Messages}}
		WHERE lane = $1 AND xid >= ran.xid AND xid <= ran.xid AND id <= $4 LIMIT $3
	) AS m
), gone AS (
	DELETE FROM {{.Messages}} WHERE lane = $1 AND id = ANY (ARRAY(SELECT id FROM late WHERE NOT kept LIMIT $3)) RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (
	SELECT coalesce(array_agg(ran.xid), '{}')::text FROM unnest($5::text::xid8[]) AS ran(xid)
	WHERE NOT pg_visible_in_snapshot(ran.xid, pg_current_snapshot()) OR EXISTS (SELECT 1 FROM late WHERE late.xid = ran.xid)
)
