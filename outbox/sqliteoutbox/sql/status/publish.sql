-- ?1 shard, ?2 a JSON array of seqs.
UPDATE outbox_events SET state = 'PUBLISHED', published = 1, published_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
WHERE shard = ?1 AND seq IN (SELECT value FROM json_each(?2)) AND state = 'PENDING'
