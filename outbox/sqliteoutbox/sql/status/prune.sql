-- ?1 shard, ?2 a JSON array of seqs.
DELETE FROM outbox_events WHERE shard = ?1 AND seq IN (SELECT value FROM json_each(?2)) AND state = 'PUBLISHED'
