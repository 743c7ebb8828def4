-- ?1 key, ?2 group, ?3 event type, ?4 aggregate id, ?5 fingerprint, ?6 claim,
-- ?7 microseconds. Takes a key that is new, released, or whose lease ran out
-- under the same fingerprint. A token is above all earlier ones, also of a row
-- that was pruned, as long as the clock does not go back.
INSERT INTO {{table}} AS l
    (idempotency_key, consumer_group, event_type, aggregate_id, fingerprint, claim, state, token, leased_until)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'CLAIMED',
    CAST(unixepoch('subsec') * 1000000 AS INTEGER), CAST(unixepoch('subsec') * 1000000 AS INTEGER) + ?7)
ON CONFLICT (idempotency_key) DO UPDATE SET
    consumer_group = excluded.consumer_group, event_type = excluded.event_type,
    aggregate_id = excluded.aggregate_id, fingerprint = excluded.fingerprint,
    claim = excluded.claim, state = 'CLAIMED', token = max(l.token + 1, excluded.token),
    leased_until = excluded.leased_until, result = NULL
WHERE l.state = 'RELEASED'
   OR l.state = 'CLAIMED' AND l.leased_until <= CAST(unixepoch('subsec') * 1000000 AS INTEGER)
      AND l.fingerprint = excluded.fingerprint
