-- $1 shard, $2 holder: does another one hold it?
SELECT count(*) FROM outbox_event_leases WHERE shard = $1 AND lease_holder <> $2 AND lease_until > clock_timestamp()
