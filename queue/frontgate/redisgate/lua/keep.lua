-- Made by go run ./scripts/glue of keep in parts. Edit those.
-- Keeps positions of members, and returns those that were kept first.
-- KEYS[1] {event}:vwr:<epoch>, a hash of positions by member
-- ARGV[1] ms for which they are kept  ARGV[2], [3], … a member and its position, 0 to ask alone
-- returns a position for each member; 0 when there is none
local call, key = redis.call, KEYS[1]
local positions, kept = {}, 0
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] ~= '0' then kept = kept + call('HSETNX', key, ARGV[i], ARGV[i + 1]) end
  positions[#positions + 1] = tonumber(call('HGET', key, ARGV[i]) or 0)
end
if kept > 0 then call('PEXPIRE', key, ARGV[1]) end
return positions
