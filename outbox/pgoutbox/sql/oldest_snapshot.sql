-- The reasons why this database cannot remove dead rows: sessions that hold a snapshot
-- or a transaction id, prepared transactions, and replicas with hot_standby_feedback by
-- their slots or senders. Sessions of other databases do not. Autovacuum and VACUUM hold
-- nothing of others back.
--
-- Columns: name, xmin, and how many microseconds old it is: NULL where the server does
-- not say, because an xmin that a replica sent has no time. The last row says whether
-- sessions of other users are hidden.
SELECT format('session %s of %s%s%s, %s', a.pid, coalesce(a.usename, a.backend_type),
		CASE WHEN a.application_name <> '' THEN ' (' || a.application_name || ')' ELSE '' END,
		CASE WHEN a.client_addr IS NOT NULL THEN ' from ' || host(a.client_addr) ELSE '' END, coalesce(a.state, a.backend_type)),
	coalesce(a.backend_xmin, a.backend_xid)::text,
	CASE WHEN a.backend_type <> 'walsender' THEN (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000000)::bigint END
FROM pg_stat_activity AS a
WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
	AND a.pid <> pg_backend_pid()
	AND (a.datname = current_database() OR a.backend_type = 'walsender')
	AND a.backend_type <> 'autovacuum worker'
	AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_vacuum AS v WHERE v.pid = a.pid)
UNION ALL
SELECT format('prepared transaction %s of %s', quote_literal(p.gid), p.owner), p.transaction::text,
	(extract(epoch FROM clock_timestamp() - p.prepared) * 1000000)::bigint
FROM pg_prepared_xacts AS p WHERE p.database = current_database()
UNION ALL
SELECT format('replication slot %s, %s', quote_literal(s.slot_name),
		CASE WHEN s.active THEN 'read by session ' || s.active_pid ELSE 'read by nothing' END), s.xmin::text,
	-- PostgreSQL 17 has the column, older ones give NULL.
	(extract(epoch FROM clock_timestamp() - (to_jsonb(s) ->> 'inactive_since')::timestamptz) * 1000000)::bigint
FROM pg_replication_slots AS s WHERE s.xmin IS NOT NULL
UNION ALL
SELECT '', '', 0 WHERE NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
