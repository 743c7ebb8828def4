-- $1 key. The last column is how many microseconds the lease runs on.
SELECT state, token, claim, fingerprint, result,
       (extract(epoch FROM leased_until - clock_timestamp()) * 1000000)::bigint
FROM {{table}} WHERE idempotency_key = $1
