-- $1 topic, $2 group, $3 member, $4 microseconds.
INSERT INTO bus_members (topic, consumer, member, live_until, progress)
VALUES ($1, $2, $3, clock_timestamp() + $4::bigint * interval '1 microsecond', 1)
ON CONFLICT (topic, consumer, member) DO UPDATE SET live_until = excluded.live_until, progress = excluded.progress
