-- $1 a JSON array of [key].
DELETE FROM {{table}} WHERE idempotency_key IN (SELECT r->>0 FROM json_array_elements($1::json) AS r)
