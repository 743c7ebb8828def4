-- Pending events up to a row: in flight, or committed after rows behind it.
-- ?1 shard, ?2 seq.
SELECT seq, id FROM outbox_events FORCE INDEX (outbox_events_state)
WHERE shard = ?1 AND state = 'PENDING' AND aside = FALSE AND seq <= ?2
ORDER BY seq
