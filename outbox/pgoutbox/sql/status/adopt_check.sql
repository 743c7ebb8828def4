-- The greatest transaction id that rows and positions of another system's shards hold,
-- and the oldest one that runs on this server. One look into the index for a shard.
WITH RECURSIVE newest AS (
	(SELECT shard, position FROM outbox_event_progress ORDER BY shard DESC, n DESC LIMIT 1)
	UNION ALL
	SELECT below.* FROM newest AS above CROSS JOIN LATERAL (
		SELECT shard, position FROM outbox_event_progress AS p
		WHERE p.shard < above.shard ORDER BY p.shard DESC, p.n DESC LIMIT 1
	) AS below
), strangers AS MATERIALIZED (
	SELECT shard, coalesce(nullif(split_part(position, '|', 3), ''), split_part(position, '|', 2)) AS covers FROM newest
	WHERE position <> '' AND split_part(position, '|', 1) <> (SELECT system_identifier FROM pg_control_system())::text
), stored AS (
	SELECT e.xid::text::numeric AS xid FROM strangers AS s CROSS JOIN LATERAL (
		SELECT xid FROM outbox_events AS e WHERE e.shard = s.shard ORDER BY e.xid DESC LIMIT 1
	) AS e
	UNION ALL
	-- A snapshot holds only ids below its xmax.
	SELECT nullif(split_part(covers, ':', 2), '')::numeric - 1 FROM strangers
)
SELECT coalesce(max(xid), 0)::text, pg_snapshot_xmin(pg_current_snapshot())::text,
	coalesce(max(xid) >= pg_snapshot_xmin(pg_current_snapshot())::text::numeric, false)
FROM stored
