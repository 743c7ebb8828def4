-- The greatest id there is.
SELECT coalesce(max(id), 0) FROM {{.Messages}}
