-- Notes how far pruning came. $1 lane, $2 place, $3 the transactions that may have left rows behind.
INSERT INTO {{.Messages}}_pruned (lane, place, running) VALUES ($1, $2, $3::text::xid8[])
ON CONFLICT (lane) DO UPDATE SET place = excluded.place, running = excluded.running, at = clock_timestamp()
