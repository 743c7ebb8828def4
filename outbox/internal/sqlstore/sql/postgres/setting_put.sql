-- The first value stays. $1 name, $2 value.
INSERT INTO {{settings}} (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING
