-- +goose Up
-- A reader finds the rows of a late transaction by its xid and reads on in them by
-- seq, so seq is in the index, too.
CREATE INDEX outbox_events_xid_seq ON outbox_events (shard, xid, seq);
DROP INDEX outbox_events_xid;

-- Readers look for the rows of new transactions above the highest seq that was
-- handed out when their last window ended. So a transaction must have its xid before
-- it takes a seq, however the row is written. An identity takes the seq first. The
-- sequence keeps CACHE 1, and its numbers must never go back.
LOCK TABLE outbox_events IN ACCESS EXCLUSIVE MODE;
CREATE SEQUENCE outbox_events_ids AS bigint CACHE 1;
SELECT setval('outbox_events_ids', last_value, is_called) FROM outbox_events_seq_seq;
ALTER TABLE outbox_events ALTER COLUMN seq DROP IDENTITY;
ALTER SEQUENCE outbox_events_ids OWNED BY outbox_events.seq;
ALTER TABLE outbox_events ALTER COLUMN seq
	SET DEFAULT CASE WHEN pg_current_xact_id() IS NOT NULL THEN nextval('outbox_events_ids') END;
-- An identity's sequence needs no privilege of its own; this one does.
GRANT USAGE, SELECT ON SEQUENCE outbox_events_ids TO PUBLIC;

-- +goose Down
LOCK TABLE outbox_events IN ACCESS EXCLUSIVE MODE;
ALTER TABLE outbox_events ALTER COLUMN seq DROP DEFAULT;
ALTER TABLE outbox_events ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (CACHE 1);
SELECT setval('outbox_events_seq_seq', last_value, is_called) FROM outbox_events_ids;
DROP SEQUENCE outbox_events_ids;
CREATE INDEX outbox_events_xid ON outbox_events (shard, xid);
DROP INDEX outbox_events_xid_seq;
