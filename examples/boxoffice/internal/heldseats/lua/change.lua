-- Changes which seats of a show are held.
--
-- KEYS[1]  hash of the show: seat → reservation
-- ARGV[1]  milliseconds until the hash is forgotten, from now
-- ARGV[2…] three for each change, in order: the seat; the reservation that must have it
--          now, "" for none, "*" for any; and the reservation that has it then, "" for none
--
-- Returns how many seats are held then.
for i = 2, #ARGV, 3 do
  local seat, was, now = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if was == '*' or was == (redis.call('HGET', KEYS[1], seat) or '') then
    if now == '' then
      redis.call('HDEL', KEYS[1], seat)
    else
      redis.call('HSET', KEYS[1], seat, now)
    end
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return redis.call('HLEN', KEYS[1])
