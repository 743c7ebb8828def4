-- ? before, limit. A lease that runs on is kept, whatever the time asked for.
DELETE FROM {{table}}
WHERE leased_until < ? AND (state <> 'CLAIMED' OR leased_until <= UTC_TIMESTAMP(6))
ORDER BY leased_until, idempotency_key LIMIT ?
