-- ? consumer.
SELECT lane, lease_holder FROM outbox_cursors WHERE consumer = ? AND lease_until > UTC_TIMESTAMP(6)
