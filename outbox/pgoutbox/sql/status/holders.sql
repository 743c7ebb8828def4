SELECT shard, lease_holder FROM outbox_event_leases WHERE lease_until > clock_timestamp()
