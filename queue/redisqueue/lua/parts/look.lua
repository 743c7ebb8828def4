-- Says how the line stands, and which blocks have changed since a version.
-- KEYS as in room.lua
-- ARGV[1] as in room.lua, then packed doubles: epoch and version of the caller,
--   most blocks
-- returns packed doubles as in state() of room.lua, then version, full (1 or 0) and
--   more (1 or 0), and for each block its number, a double, and its 128 bytes
-- Cost: a GETRANGE for each block; 256 blocks about 0.3 ms. Once after a start or a
--   promotion of the server a ZADD of all blocks.
local known, version, most = unpack('<ddd', ARGV[1], rest)
open()
clean_some()
if room[VERSION] > room[OLDEST] and call('EXISTS', VERSIONS) == 0 then
  room[OLDEST], changed = room[VERSION], true
end

moved()

local full = 0
if known ~= room[EPOCH] or version < room[OLDEST] or version > room[VERSION] then full, version = 1, 0 end
local found = call('ZRANGEBYSCORE', VERSIONS, '(' .. format('%.0f', version), '+inf', 'WITHSCORES', 'LIMIT', 0, most + 1)
local n, more, upto = #found / 2, 0, room[VERSION]
if n > most then
  n, more = most, 1
  upto = tonumber(found[2 * n])
end
local blocks = {}
for i = 1, n do
  local block = tonumber(found[2 * i - 1])
  local bits = bits_of(block, 1)
  blocks[i] = pack('<d', block) .. bits
end
local answer = state() .. pack('<ddd', upto, full, more)
close()
return answer .. table.concat(blocks)
