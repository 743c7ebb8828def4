-- The server, and whether its log has a row at a place. ? id (0: there is none), ? id, ? place
SELECT {{server}}, ? = 0 OR COALESCE((SELECT seq FROM count_changes WHERE id = ?) = ?, FALSE)
