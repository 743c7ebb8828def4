-- Appends entries in the order given, in the format of copy.go.
COPY {{.Messages}} (lane, topic, message_id, message_key, headers, payload{{range .Labels}}, {{.}}{{end}}) FROM STDIN WITH (FORMAT binary)
