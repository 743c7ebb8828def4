-- +goose Up
-- A reader finds the rows of a late transaction by its xid and reads on in them by
-- id, so the id is in the index, too.
CREATE INDEX {{.Messages}}_xid_id ON {{.Messages}} (lane, xid, id);
DROP INDEX {{.Messages}}_xid;

-- Readers look for the rows of new transactions above the highest id that was
-- handed out when their last window ended. So a transaction must have its xid
-- before it takes an id, however the row is inserted. An identity takes the id
-- first. The sequence keeps CACHE 1, and its ids must never go back.
LOCK TABLE {{.Messages}} IN ACCESS EXCLUSIVE MODE;
CREATE SEQUENCE {{.Messages}}_ids AS bigint CACHE 1;
SELECT setval('{{.Messages}}_ids', last_value, is_called) FROM {{.Messages}}_id_seq;
ALTER TABLE {{.Messages}} ALTER COLUMN id DROP IDENTITY;
ALTER SEQUENCE {{.Messages}}_ids OWNED BY {{.Messages}}.id;
ALTER TABLE {{.Messages}} ALTER COLUMN id
	SET DEFAULT CASE WHEN pg_current_xact_id() IS NOT NULL THEN nextval('{{.Messages}}_ids') END;
-- An identity's sequence needs no privilege of its own; this one does.
GRANT USAGE, SELECT ON SEQUENCE {{.Messages}}_ids TO PUBLIC;

-- +goose Down
LOCK TABLE {{.Messages}} IN ACCESS EXCLUSIVE MODE;
ALTER TABLE {{.Messages}} ALTER COLUMN id DROP DEFAULT;
ALTER TABLE {{.Messages}} ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (CACHE 1);
SELECT setval('{{.Messages}}_id_seq', last_value, is_called) FROM {{.Messages}}_ids;
DROP SEQUENCE {{.Messages}}_ids;
CREATE INDEX {{.Messages}}_xid ON {{.Messages}} (lane, xid);
DROP INDEX {{.Messages}}_xid_id;
