-- $1 how long a hold lasts (ms); returns when it ends
SELECT CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT) + $1
