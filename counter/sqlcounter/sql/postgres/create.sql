-- $1 counter
INSERT INTO count_flushers (counter) VALUES ($1) ON CONFLICT (counter) DO NOTHING
