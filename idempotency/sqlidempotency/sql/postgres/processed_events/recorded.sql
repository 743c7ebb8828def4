-- $1 a JSON array of [event id, consumer]. Counts those that are recorded.
SELECT count(*) FROM {{table}}
WHERE (event_id, consumer_service) IN (SELECT r->>0, r->>1 FROM json_array_elements($1::json) AS r)
