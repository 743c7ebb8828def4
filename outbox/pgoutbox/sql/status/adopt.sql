-- Takes another system's positions as they are. Leases on them are void.
WITH RECURSIVE newest AS (
	(SELECT shard, n, swept, position, lease_token FROM outbox_event_progress ORDER BY shard DESC, n DESC LIMIT 1)
	UNION ALL
	SELECT below.* FROM newest AS above CROSS JOIN LATERAL (
		SELECT shard, n, swept, position, lease_token FROM outbox_event_progress AS p
		WHERE p.shard < above.shard ORDER BY p.shard DESC, p.n DESC LIMIT 1
	) AS below
)
INSERT INTO outbox_event_progress (shard, n, swept, position, lease_token)
SELECT shard, n + 1, swept, regexp_replace(position, '^[0-9]+', system_identifier::text), lease_token + 1
FROM newest CROSS JOIN pg_control_system()
WHERE position <> '' AND split_part(position, '|', 1) <> system_identifier::text
