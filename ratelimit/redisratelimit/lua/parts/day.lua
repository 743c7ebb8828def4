-- Follows plan.lua in every script: the count of the day. The day's key holds
-- number and count of the day, packed doubles. Without a limit it is not used.
local day_of, tally
if limit > 0 then
  function day_of(at)
    return math.floor((at - offset) / 86400000000)
  end

  -- tally continues the higher of the stored count and the caller's. A count of
  -- tomorrow is that of a clock that has been set back over midnight, and is continued.
  -- A day that is further away is a mistake that must not last: its stored count counts
  -- for today, a caller's count of it does not.
  function tally(now, stored)
    local today = day_of(now)
    local day, used = today, 0
    if stored and #stored == 16 then
      local d, u = unpack('<dd', stored)
      if d >= today then
        used = u
        if d == today + 1 then day = d end
      end
    end
    if seen_day == day then
      used = math.max(used, seen_used)
    elseif seen_day == today + 1 then
      day, used = seen_day, seen_used
    end
    return day, used
  end
end
