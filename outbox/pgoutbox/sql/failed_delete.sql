-- $1 a JSON array of ids.
DELETE FROM outbox_failed WHERE id IN (SELECT v::bigint FROM jsonb_array_elements_text($1::text::jsonb) AS v)
