-- Extends leases; the condition is repeated for each further one. Without the hint MariaDB
-- reads all cursors for many of them, and locks those of the other processes.
-- ? microseconds, then of each ? consumer, ? lane, ? token, ? holder, ? server, ? position.
UPDATE {{.Cursors}} FORCE INDEX (PRIMARY) SET lease_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, touched = touched + 1
WHERE (consumer = ? AND lane = ? AND lease_token = ? AND lease_holder = ? AND {{server}} = ? AND last_seq = ?)
