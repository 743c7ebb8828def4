-- The lanes that have or had a cursor.
SELECT lane FROM {{.Messages}}_lanes
