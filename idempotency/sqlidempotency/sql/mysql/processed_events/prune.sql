-- ? minus the age in microseconds, limit
DELETE FROM {{table}} WHERE processed_at < TIMESTAMPADD(MICROSECOND, ?, UTC_TIMESTAMP(6)) ORDER BY processed_at, event_id, consumer_service LIMIT ?
