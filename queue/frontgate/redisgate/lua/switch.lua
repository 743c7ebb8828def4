-- Made by go run ./scripts/glue of gate, switch in parts. Edit those.
-- Begins every script: how the gate stands, by the server's clock.
-- KEYS[1] {event}:vwr, a hash: epoch, on, assigned, serving, opened, advanced
-- Times are µs since 1970.
local call, key = redis.call, KEYS[1]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = call('HMGET', key, 'epoch', 'on', 'assigned', 'serving', 'opened', 'advanced')
local epoch, on = tonumber(stored[1] or 0), stored[2] == '1'
local assigned, serving, opened = tonumber(stored[3] or 0), tonumber(stored[4] or 0), tonumber(stored[5] or 0)
local advanced = tonumber(stored[6] or 0)

-- state packs the answer of every script, with its additions.
local function state(moved, following)
  return struct.pack('<dddddddd', epoch, on and 1 or 0, assigned, serving, opened, now, moved or 0, following or 0)
end

-- number writes one as Redis counts, which %g would round.
local function number(n) return string.format('%.0f', n) end
-- Switches the gate.
-- KEYS[1] as in gate.lua
-- ARGV[1] 1 on, 0 off  ARGV[2] ms for which a gate that is off is kept
-- returns packed doubles: epoch, on, assigned, serving, opened, now, 0, 0
local wanted = ARGV[1] == '1'
if wanted == on then return state() end
on = wanted
if on then
  if epoch == 0 then epoch = now end
  opened = assigned
  call('HSET', key, 'epoch', number(epoch), 'on', '1', 'assigned', number(assigned), 'serving', number(serving), 'opened', number(opened))
  call('PERSIST', key)
else
  serving = assigned
  call('HSET', key, 'on', '0', 'serving', number(serving))
  call('PEXPIRE', key, ARGV[2])
end
return state()
