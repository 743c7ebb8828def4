-- Begins every script: when it decides, and on whose clock. It reads no key.
-- clock is the server's time, in µs since 1970. The replication id of the server
-- is new at each start of a master and each promotion; see doc.go.
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local info = call('INFO', 'replication')

-- follows says whether state of a server, last changed then, can be gone on with.
local function follows(id, last)
  return last <= clock + 1000000 and string.find(info, 'master_replid:' .. id, 1, true)
end

-- this_server is the id that new state carries.
local function this_server()
  return string.match(info, 'master_replid:(%x+)')
end
