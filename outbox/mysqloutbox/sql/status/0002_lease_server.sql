-- +goose Up
-- The server that the lease was taken on: it ends with a failover to another one.
-- MySQL has no ADD COLUMN IF NOT EXISTS, and a process may end behind it.
SET @millrace = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()
	AND table_name = 'outbox_event_leases' AND column_name = 'lease_server') = 0,
	'ALTER TABLE outbox_event_leases ADD COLUMN lease_server VARCHAR(500) NOT NULL DEFAULT ''''', 'DO 0');
PREPARE millrace FROM @millrace;
EXECUTE millrace;
DEALLOCATE PREPARE millrace;

-- +goose Down
ALTER TABLE outbox_event_leases DROP COLUMN lease_server;
