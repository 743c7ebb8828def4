-- By primary key and no other way: a scan, which the optimizer prefers for a small
-- table, would lock the rows of open transactions, that is wait for them.
-- ?1 shard, ?2 a JSON array of seqs.
UPDATE JSON_TABLE(?2, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_events AS e FORCE INDEX (PRIMARY) ON e.seq = j.seq
SET e.state = 'PUBLISHED', e.aside = FALSE, e.published = TRUE, e.published_at = UTC_TIMESTAMP(6)
WHERE e.shard = ?1 AND e.state = 'PENDING'
