-- $1 shard, $2 holder, $3 microseconds. No row: absent, or held by another.
UPDATE outbox_event_leases SET
	lease_holder = $2,
	lease_server = {{server}},
	lease_token  = lease_token + 1,
	lease_until  = clock_timestamp() + $3::bigint * interval '1 microsecond'
WHERE shard = $1 AND (lease_holder = $2 OR lease_until <= clock_timestamp())
