-- The message of a row.
-- ? id, ? server.
SELECT message_id FROM {{.Messages}} WHERE id = ? AND {{server}} = ?
