-- $1 a JSON array of [event id, consumer].
DELETE FROM {{table}}
WHERE (event_id, consumer_service) IN (SELECT r->>0, r->>1 FROM json_array_elements($1::json) AS r)
