-- $1 shard, $2 token.
UPDATE outbox_event_leases SET lease_until = '-infinity', lease_holder = '' WHERE shard = $1 AND lease_token = $2
