-- Reading begins anew; the rows' state says what is pending. Leases are void.
-- $1 shard, $2 position.
UPDATE outbox_event_leases SET
	position = $2, lease_token = lease_token + 1, lease_until = '-infinity', updated_at = clock_timestamp()
WHERE shard = $1
