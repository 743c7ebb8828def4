-- ?1 key. The last column is how many microseconds the lease runs on.
SELECT state, token, claim, fingerprint, result,
       leased_until - CAST(unixepoch('subsec') * 1000000 AS INTEGER)
FROM {{table}} WHERE idempotency_key = ?1
