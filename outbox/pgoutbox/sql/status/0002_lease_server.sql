-- +goose Up
-- Which run of the server the lease was taken from. A position that a relay has read and
-- not stored yet may name transactions as done that a crash of the server undoes, whose
-- ids the server then gives to others: so the lease ends with that run.
ALTER TABLE outbox_event_leases ADD COLUMN lease_server text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE outbox_event_leases DROP COLUMN lease_server;
