-- +goose Up
-- The log: append-only, one row per message. xid is the transaction that wrote
-- the row; with snapshots it tells which rows a reader has already covered.
-- The identity must keep CACHE 1, or ids handed to one session would lie below
-- those another session has used already.
CREATE TABLE {{.Messages}} (
	id          bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
	lane        integer     NOT NULL,
	xid         xid8        NOT NULL DEFAULT pg_current_xact_id(),
	topic       text        NOT NULL,
	message_id  text        NOT NULL,
	message_key text        NOT NULL,
	headers     text        NOT NULL,
	payload     bytea       NOT NULL,
{{- range .Labels}}
	{{.}} text NOT NULL DEFAULT '',
{{- end}}
	created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (lane, id)
);
CREATE INDEX {{.Messages}}_xid ON {{.Messages}} (lane, xid);

-- One row per consumer and lane: its position, and the holder of its lease.
CREATE TABLE {{.Cursors}} (
	consumer     text    NOT NULL,
	lane         integer NOT NULL,
	window_from  pg_snapshot NOT NULL DEFAULT '1:1:',
	window_to    pg_snapshot,
	window_end   bigint  NOT NULL DEFAULT 0,
	last_id      bigint  NOT NULL DEFAULT 0,
	system_id    bigint  NOT NULL,
	lease_holder text    NOT NULL DEFAULT '',
	lease_token  bigint  NOT NULL DEFAULT 0,
	lease_until  timestamptz NOT NULL DEFAULT '-infinity',
	updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (consumer, lane)
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE {{.Cursors}};
DROP TABLE {{.Messages}};
