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
