-- Appends entries in the order given. Arrays keep the text of the statement the
-- same for any number of entries, so that it is prepared once.
INSERT INTO {{.Messages}} (lane, topic, message_id, message_key, headers, payload{{range .Labels}}, {{.}}{{end}})
SELECT e.lane, e.topic, e.message_id, e.message_key, e.headers, e.payload{{range .Labels}}, e.{{.}}{{end}}
FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]{{range $i, $_ := .Labels}}, ${{add $i 7}}::text[]{{end}})
	WITH ORDINALITY AS e(lane, topic, message_id, message_key, headers, payload{{range .Labels}}, {{.}}{{end}}, n)
ORDER BY e.n
