-- A row whose transaction this server has not begun: it comes from another server.
-- None of the window's rows is one, because no snapshot shows such a transaction.
-- $1 lane.
SELECT id, xid::text FROM {{.Messages}}
WHERE lane = $1 AND xid <= '18446744073709551615' AND xid >= (
	SELECT (pg_snapshot_xmax(s)::text::bigint + age(pg_snapshot_xmax(s)::xid))::text::xid8 FROM pg_current_snapshot() AS s
)
ORDER BY xid LIMIT 1
