-- ? consumer, ? lane, ? position.
INSERT INTO {{.Cursors}} (consumer, lane, last_seq, lease_token) VALUES (?, ?, ?, 1)
ON DUPLICATE KEY UPDATE
	last_seq     = VALUES(last_seq),
	lease_holder = '',
	lease_token  = lease_token + 1,
	lease_until  = '1970-01-01 00:00:00',
	updated_at   = UTC_TIMESTAMP(6)
