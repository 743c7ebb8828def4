-- Appends one entry.
INSERT INTO {{.Messages}} (lane, topic, message_id, message_key, headers, payload{{range .Labels}}, {{.}}{{end}})
VALUES ($1, $2, $3, $4, $5, $6{{range $i, $_ := .Labels}}, ${{add $i 7}}{{end}})
