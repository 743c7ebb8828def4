-- ?1 consumer.
SELECT lane, lease_holder FROM outbox_cursors WHERE consumer = ?1 AND lease_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
