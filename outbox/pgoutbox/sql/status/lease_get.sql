-- $1 shard.
SELECT lease_token, position FROM outbox_event_leases WHERE shard = $1
