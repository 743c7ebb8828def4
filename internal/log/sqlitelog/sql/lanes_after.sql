-- Which lanes have rows after an id, and how far. ?1 id.
SELECT lane, max(id) FROM {{.Messages}} WHERE id > ?1 GROUP BY lane
