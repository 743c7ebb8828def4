-- ? key, group, event type, aggregate id, fingerprint, claim, microseconds.
-- Takes a key that is new, released, or whose lease ran out under the same
-- fingerprint. Assignments run from left to right and see each other: the first
-- decides, the others ask whether it did. A token is above all earlier ones,
-- also of a row that was pruned, as long as the server's clock does not go back.
INSERT INTO {{table}}
    (idempotency_key, consumer_group, event_type, aggregate_id, fingerprint, claim, state, token, leased_until)
VALUES (?, ?, ?, ?, ?, ?, 'CLAIMED',
    TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
ON DUPLICATE KEY UPDATE
    claim = IF(state = 'RELEASED' OR state = 'CLAIMED' AND leased_until <= UTC_TIMESTAMP(6) AND fingerprint = VALUES(fingerprint),
        VALUES(claim), claim),
    consumer_group = IF(claim = VALUES(claim), VALUES(consumer_group), consumer_group),
    event_type = IF(claim = VALUES(claim), VALUES(event_type), event_type),
    aggregate_id = IF(claim = VALUES(claim), VALUES(aggregate_id), aggregate_id),
    fingerprint = IF(claim = VALUES(claim), VALUES(fingerprint), fingerprint),
    token = IF(claim = VALUES(claim), GREATEST(token + 1, VALUES(token)), token),
    leased_until = IF(claim = VALUES(claim), VALUES(leased_until), leased_until),
    result = IF(claim = VALUES(claim), NULL, result),
    state = IF(claim = VALUES(claim), 'CLAIMED', state)
