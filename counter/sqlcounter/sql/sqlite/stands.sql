-- Whether the log has a row. ?1 id (0: there is none)
SELECT '', ?1 = 0 OR EXISTS (SELECT 1 FROM count_changes WHERE id = ?1)
