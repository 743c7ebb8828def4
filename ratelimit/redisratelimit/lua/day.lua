-- Follows moment.lua in every script: the count of the day, of which
-- ARGV[7] limit, 0 for none  ARGV[9] offset, µs
-- ARGV[10] day that the caller has seen  ARGV[11] its count
-- The day's key holds number and count of the day, packed doubles.
local function day_of(at)
  return math.floor((at - ARGV[9]) / 86400000000)
end

-- tally goes on from the higher of what is stored and what the caller has seen. A
-- count of tomorrow is that of a clock that has been set back over midnight, and
-- is gone on with. A day that is further away is a mistake that must not last: what
-- is stored of it counts for today, what a caller tells of it does not count.
local function tally(now, stored)
  local today = day_of(now)
  local day, used = today, 0
  if stored and #stored == 16 then
    local d, u = struct.unpack('<dd', stored)
    if d >= today then
      used = u
      if d == today + 1 then day = d end
    end
  end
  local d, u = tonumber(ARGV[10]), tonumber(ARGV[11])
  if d == day then
    used = math.max(used, u)
  elseif d == today + 1 then
    day, used = d, u
  end
  return day, used
end
