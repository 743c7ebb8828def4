-- ?1 a JSON array of [event id, consumer]. Counts those that are recorded.
SELECT count(*) FROM {{table}}
WHERE (event_id, consumer_service) IN (SELECT value->>0, value->>1 FROM json_each(?1))
