-- ? minus the age in microseconds, limit. A lease that runs on is kept, whatever the age.
DELETE FROM {{table}}
WHERE leased_until < TIMESTAMPADD(MICROSECOND, ?, UTC_TIMESTAMP(6)) AND (state <> 'CLAIMED' OR leased_until <= UTC_TIMESTAMP(6))
ORDER BY leased_until, idempotency_key LIMIT ?
