-- ?1 shard, ?2 position.
INSERT IGNORE INTO outbox_event_leases (shard, position) VALUES (?1, ?2)
