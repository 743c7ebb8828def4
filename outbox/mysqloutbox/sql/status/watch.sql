-- Per shard, the first and the last event that is pending in its place.
SELECT l.shard,
	COALESCE((SELECT e.seq FROM outbox_events AS e FORCE INDEX (outbox_events_state)
		WHERE e.shard = l.shard AND e.state = 'PENDING' AND e.aside = FALSE ORDER BY e.seq LIMIT 1), 0),
	COALESCE((SELECT e.seq FROM outbox_events AS e FORCE INDEX (outbox_events_state)
		WHERE e.shard = l.shard AND e.state = 'PENDING' AND e.aside = FALSE ORDER BY e.seq DESC LIMIT 1), 0)
FROM outbox_event_leases AS l
