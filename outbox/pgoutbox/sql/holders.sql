-- $1 consumer.
SELECT lane, lease_holder FROM outbox_cursors WHERE consumer = $1 AND lease_until > clock_timestamp()
