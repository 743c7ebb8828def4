-- ? a JSON array of ids.
DELETE f FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_failed AS f ON f.id = j.id
