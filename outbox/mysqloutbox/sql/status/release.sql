-- ?1 shard, ?2 token.
UPDATE outbox_event_leases SET lease_until = '1970-01-01 00:00:00', lease_holder = ''
WHERE shard = ?1 AND lease_token = ?2
