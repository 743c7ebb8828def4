-- +goose Up
-- The log: append-only, one row per message. SQLite has one writer at a time, so
-- with AUTOINCREMENT ids are handed out in commit order and never come back.
CREATE TABLE {{.Messages}} (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	lane        INTEGER NOT NULL,
	topic       TEXT    NOT NULL,
	message_id  TEXT    NOT NULL,
	message_key TEXT    NOT NULL,
	headers     TEXT    NOT NULL,
	payload     BLOB    NOT NULL,
{{- range .Labels}}
	{{.}} TEXT NOT NULL DEFAULT '',
{{- end}}
	created_at  INTEGER NOT NULL DEFAULT ({{now}}) -- microseconds since 1970
);
-- Every index entry ends with the row's id, so this one serves (lane, id).
CREATE INDEX {{.Messages}}_lane ON {{.Messages}} (lane);

-- One row per consumer and lane: its position, and the holder of its lease.
CREATE TABLE {{.Cursors}} (
	consumer     TEXT    NOT NULL,
	lane         INTEGER NOT NULL,
	last_id      INTEGER NOT NULL DEFAULT 0,
	lease_holder TEXT    NOT NULL DEFAULT '',
	lease_token  INTEGER NOT NULL DEFAULT 0,
	lease_until  INTEGER NOT NULL DEFAULT 0, -- microseconds since 1970
	updated_at   INTEGER NOT NULL DEFAULT ({{now}}),
	PRIMARY KEY (consumer, lane)
) WITHOUT ROWID;
CREATE INDEX {{.Cursors}}_lane ON {{.Cursors}} (lane, last_id);

-- +goose Down
DROP TABLE {{.Cursors}};
DROP TABLE {{.Messages}};
