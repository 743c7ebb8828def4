SELECT shard, lease_holder FROM outbox_event_leases WHERE lease_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
