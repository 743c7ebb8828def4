-- ?1 shard, ?2 position.
INSERT INTO outbox_event_leases (shard, position) VALUES (?1, ?2) ON CONFLICT (shard) DO NOTHING
