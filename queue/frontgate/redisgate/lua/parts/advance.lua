-- Makes a round when it is time for one.
-- KEYS[1] as in gate.lua
-- ARGV[1] by how much at most  ARGV[2] µs from a round to the next, 0 for an operator's
-- returns packed doubles: epoch, on, assigned, serving, opened, now, by how much
--   the serving counter was raised, µs until the next round
if not on then return state() end
local by, every = tonumber(ARGV[1]), tonumber(ARGV[2])
-- A round of the future is from before the clock was set back.
local past = now - advanced
if every > 0 and past >= 0 and past < every then return state(0, every - past) end

local moved = assigned - serving
if moved > by then moved = by end
serving = serving + moved
if every > 0 then
  call('HSET', key, 'serving', number(serving), 'advanced', number(now))
else
  call('HSET', key, 'serving', number(serving))
end
return state(moved, every)
