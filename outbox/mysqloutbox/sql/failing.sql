-- Events that have failed and wait, in their place or aside. The primary key is
-- walked: the table holds only failing events and those that wait behind them.
-- ? after id, ? rows.
SELECT id, shard, topic, message_id, message_key, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at), aside,
	attempts, 0, age_us, last_error, COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', first_failed_at), 0),
	COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', next_retry_at), 0)
FROM outbox_retries FORCE INDEX (PRIMARY) WHERE id > ? AND attempts > 0 ORDER BY id LIMIT ?
