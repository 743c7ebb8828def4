-- ?1 a JSON array of seqs.
DELETE FROM outbox_events WHERE seq IN (SELECT value FROM json_each(?1)) AND state = 'FAILED'
