-- The server. A position that it gave means the same rows for as long as it runs.
SELECT {{server}}, true
