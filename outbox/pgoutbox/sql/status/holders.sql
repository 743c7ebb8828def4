-- The newest row of each shard, from the last shard down: one look into the index for each.
WITH RECURSIVE newest AS (
	(SELECT shard, lease_holder, lease_until FROM outbox_event_progress ORDER BY shard DESC, n DESC LIMIT 1)
	UNION ALL
	SELECT below.* FROM newest AS above CROSS JOIN LATERAL (
		SELECT shard, lease_holder, lease_until FROM outbox_event_progress AS p
		WHERE p.shard < above.shard ORDER BY p.shard DESC, p.n DESC LIMIT 1
	) AS below
)
SELECT shard, lease_holder FROM newest WHERE lease_until > clock_timestamp()
