-- ?1 counter, ?2 a JSON array of [key, delta]. WHERE true keeps the parser from
-- reading ON as a join.
INSERT INTO count_totals AS t (counter, counter_key, total)
SELECT ?1, value->>0, value->>1 FROM json_each(?2) WHERE true
ON CONFLICT (counter, counter_key) DO UPDATE SET total = t.total + excluded.total,
    updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
