-- ? minus the age in microseconds, limit
DELETE FROM {{table}} WHERE handled_at < TIMESTAMPADD(MICROSECOND, ?, UTC_TIMESTAMP(6)) ORDER BY handled_at, idempotency_key LIMIT ?
