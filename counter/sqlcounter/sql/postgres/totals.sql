-- $1 counter, $2 a JSON array of keys
SELECT counter_key, total FROM count_totals
WHERE counter = $1 AND counter_key IN (SELECT json_array_elements_text($2::json))
