-- ? key. The last column is how many microseconds the lease runs on.
SELECT state, token, claim, fingerprint, result, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), leased_until)
FROM {{table}} WHERE idempotency_key = ?
