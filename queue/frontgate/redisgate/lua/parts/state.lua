-- Says how the gate stands.
-- KEYS[1] as in gate.lua
-- returns packed doubles: epoch, on, assigned, serving, opened, now, 0, 0
return state()
