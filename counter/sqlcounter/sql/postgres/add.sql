-- $1 counter, $2 a JSON array of [key, delta], sorted by key
INSERT INTO count_totals AS t (counter, counter_key, total)
SELECT $1::text, r->>0, (r->>1)::bigint FROM json_array_elements($2::json) AS r
ON CONFLICT (counter, counter_key) DO UPDATE SET total = t.total + excluded.total, updated_at = clock_timestamp()
