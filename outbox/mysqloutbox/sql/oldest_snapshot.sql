-- The oldest open transaction: while it may keep a read view, InnoDB purges nothing that
-- was deleted or replaced since. trx_started is in the server's own time zone. A
-- transaction without a session was prepared (XA), or is rolled back after a crash.
SELECT t.trx_mysql_thread_id, COALESCE(p.user, ''), COALESCE(p.host, ''), COALESCE(p.command, ''),
	GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), UTC_TIMESTAMP(6)), 0))
FROM information_schema.INNODB_TRX AS t
LEFT JOIN information_schema.PROCESSLIST AS p ON p.id = t.trx_mysql_thread_id AND t.trx_mysql_thread_id > 0
WHERE t.trx_mysql_thread_id <> CONNECTION_ID()
ORDER BY t.trx_started, t.trx_mysql_thread_id LIMIT 1
