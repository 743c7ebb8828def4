-- Moves deltas aside under the id of a batch.
-- KEYS[1] set of the keys with deltas, KEYS[2] set of the batches aside, KEYS[3] the
--   batch, KEYS[4...] deltas
-- ARGV[1] id of the batch, ARGV[2...] names of the deltas' keys, in their order
-- returns name, delta, name, delta, ... of the moved deltas
-- A key of another type, or without a number below 10^18, is left and only loses its
-- entry. Deltas stay text, since Lua's numbers end at 2^53.
local taken, gone, names = {}, {}, {}
for i = 4, #KEYS do
  local name = ARGV[i - 2]
  names[#names + 1] = name
  local kind = redis.call('TYPE', KEYS[i]).ok
  local delta = kind == 'string' and redis.call('GET', KEYS[i])
  if delta and #delta <= 18 and string.match(delta, '^-?%d+$') then
    gone[#gone + 1] = KEYS[i]
    if delta ~= '0' then
      taken[#taken + 1] = name
      taken[#taken + 1] = delta
    end
  end
end

-- A command takes no more arguments than fit Lua's stack.
local function each(command, key, list)
  for from = 1, #list, 1000 do
    redis.call(command, key, unpack(list, from, math.min(from + 999, #list)))
  end
end
if #taken > 0 then
  each('HSET', KEYS[3], taken)
  redis.call('SADD', KEYS[2], ARGV[1])
end
for _, key in ipairs(gone) do redis.call('DEL', key) end
if #names > 0 then each('SREM', KEYS[1], names) end
return taken
