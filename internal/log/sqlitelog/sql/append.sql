-- Appends entries in the order given. One row of placeholders is repeated for
-- each further entry.
INSERT INTO {{.Messages}} (lane, topic, message_id, message_key, headers, payload{{range .Labels}}, {{.}}{{end}})
VALUES (?, ?, ?, ?, ?, ?{{range .Labels}}, ?{{end}})
