-- How far pruning came. $1 lane.
SELECT coalesce(p.place, 0), coalesce(p.running, '{}')::text, {{server}}
FROM (SELECT $1::integer AS lane) AS l LEFT JOIN {{.Messages}}_pruned AS p ON p.lane = l.lane
