-- ?1 minus the age in microseconds, ?2 limit. A lease that runs on is kept, whatever
-- the age.
DELETE FROM {{table}} WHERE idempotency_key IN (
    SELECT idempotency_key FROM {{table}}
    WHERE leased_until < CAST(unixepoch('subsec') * 1000000 AS INTEGER) + ?1 AND (state <> 'CLAIMED' OR leased_until <= CAST(unixepoch('subsec') * 1000000 AS INTEGER))
    ORDER BY leased_until LIMIT ?2
)
