-- $1 shard, $2 holder: does another one hold it?
SELECT count(*) FROM (
	SELECT lease_holder, lease_until FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1
) AS newest
WHERE lease_holder <> $2 AND lease_until > clock_timestamp()
