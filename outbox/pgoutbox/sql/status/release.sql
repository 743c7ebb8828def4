-- $1 shard, $2 token.
INSERT INTO outbox_event_progress (shard, n, swept, position, lease_token)
SELECT shard, n + 1, swept, position, lease_token
FROM (SELECT * FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1 FOR KEY SHARE) AS newest
WHERE lease_token = $2
ON CONFLICT (shard, n) DO NOTHING
