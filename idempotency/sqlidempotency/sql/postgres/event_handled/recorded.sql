-- $1 a JSON array of [key]. Counts the keys that are recorded.
SELECT count(*) FROM {{table}} WHERE idempotency_key IN (SELECT r->>0 FROM json_array_elements($1::json) AS r)
