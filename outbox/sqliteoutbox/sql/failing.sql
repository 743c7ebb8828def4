-- Events that have failed and wait, in their place or aside. The primary key is
-- walked: the table holds only failing events and those that wait behind them.
-- ?1 after id, ?2 rows.
SELECT id, shard, topic, message_id, message_key, created_at, aside,
	attempts, 0, age_us, last_error, coalesce(first_failed_at, 0), coalesce(next_retry_at, 0)
FROM outbox_retries WHERE id > ?1 AND attempts > 0 ORDER BY id LIMIT ?2
