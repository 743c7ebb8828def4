-- +goose Up
-- The log: append-only, one row per message. Rows are appended with seq 0; once
-- their transaction has committed a reader gives them their place in the order
-- of reading. Its lane's rows without one are one range of the index.
CREATE TABLE IF NOT EXISTS {{.Messages}} (
	id          BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
	lane        INT           NOT NULL,
	seq         BIGINT        NOT NULL DEFAULT 0,
	topic       VARCHAR(255)  NOT NULL,
	message_id  VARCHAR(255)  NOT NULL,
	message_key VARCHAR(1000) NOT NULL,
	headers     LONGTEXT      NOT NULL,
	payload     LONGBLOB      NOT NULL,
{{- range .Labels}}
	{{.}} VARCHAR(1000) NOT NULL DEFAULT '',
{{- end}}
	created_at  DATETIME(6)   NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
	INDEX {{.Messages}}_lane (lane, seq)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row per lane: the next place to assign.
CREATE TABLE IF NOT EXISTS {{.Messages}}_lanes (
	lane     INT    NOT NULL PRIMARY KEY,
	next_seq BIGINT NOT NULL DEFAULT 1
) ENGINE = InnoDB;

-- One row per consumer and lane: its position, and the holder of its lease. touched
-- counts writes, so that each changes the row: otherwise the server would count none.
CREATE TABLE IF NOT EXISTS {{.Cursors}} (
	consumer     VARCHAR(255) NOT NULL,
	lane         INT          NOT NULL,
	last_seq     BIGINT       NOT NULL DEFAULT 0,
	lease_holder VARCHAR(255) NOT NULL DEFAULT '',
	lease_token  BIGINT       NOT NULL DEFAULT 0,
	lease_until  DATETIME(6)  NOT NULL DEFAULT '1970-01-01 00:00:00',
	touched      BIGINT       NOT NULL DEFAULT 0,
	updated_at   DATETIME(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
	PRIMARY KEY (consumer, lane),
	INDEX {{.Cursors}}_lane (lane, last_seq)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE {{.Cursors}};
DROP TABLE {{.Messages}}_lanes;
DROP TABLE {{.Messages}};
