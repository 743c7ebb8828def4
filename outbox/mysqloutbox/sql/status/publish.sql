-- ?1 shard, ?2 a JSON array of seqs.
UPDATE JSON_TABLE(?2, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_events AS e ON e.seq = j.seq
SET e.state = 'PUBLISHED', e.aside = FALSE, e.published = TRUE, e.published_at = UTC_TIMESTAMP(6)
WHERE e.shard = ?1 AND e.state = 'PENDING'
