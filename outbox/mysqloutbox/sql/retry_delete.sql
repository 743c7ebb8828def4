-- Row by row, so that no other shard's rows are looked at and locked.
-- ? a JSON array of ids.
DELETE r FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_retries AS r ON r.id = j.id
