-- Extends leases; the condition is repeated for each further one.
-- ? microseconds, then of each ? consumer, ? lane, ? token, ? holder, ? server, ? position.
UPDATE {{.Cursors}} SET lease_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, touched = touched + 1
WHERE (consumer = ? AND lane = ? AND lease_token = ? AND lease_holder = ? AND {{server}} = ? AND last_seq = ?)
