-- Gives positions out when the gate is on.
-- KEYS[1] as in gate.lua
-- ARGV[1] how many
-- returns packed doubles: epoch, on, assigned, serving, opened, now, 0, 0
if on then
  assigned = assigned + tonumber(ARGV[1])
  call('HSET', key, 'assigned', number(assigned))
end
return state()
