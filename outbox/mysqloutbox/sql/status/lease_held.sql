-- ?1 shard, ?2 holder: does another one hold it?
SELECT COUNT(*) FROM outbox_event_leases WHERE shard = ?1 AND lease_holder <> ?2 AND lease_until > UTC_TIMESTAMP(6)
