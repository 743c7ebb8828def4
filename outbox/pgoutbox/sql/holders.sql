-- $1 consumer.
SELECT c.lane, p.lease_holder FROM outbox_cursors AS c CROSS JOIN LATERAL (
	SELECT lease_holder, lease_until FROM outbox_cursors_progress AS p
	WHERE p.consumer = c.consumer AND p.lane = c.lane ORDER BY p.n DESC LIMIT 1
) AS p
WHERE c.consumer = $1 AND p.lease_until > clock_timestamp()
