-- By primary key, row by row, as number.sql says why.
-- ? a JSON array of ids.
DELETE m FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j
	STRAIGHT_JOIN {{.Messages}} AS m FORCE INDEX (PRIMARY) ON m.id = j.id
