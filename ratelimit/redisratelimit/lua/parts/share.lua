-- Follows day.lua in every script: the least share of low priority, a bucket that all
-- calls of low priority empty. A call is as many units as make its refill whole:
-- low_share hundredths of low_rate, per second, or per window of the strict mode.
local share_rate = low_rate * low_share
local share, waits = 0, 0 -- what is in it; high leaves it alone before this time

-- share_after is the share after so many µs without a call.
local function share_after(units, elapsed, full)
  if share_rate == 0 then return 0 end
  -- Beyond this the product could leave the 53 bits.
  if elapsed < math.ceil(full / share_rate) then
    return math.min(full, units + math.max(0, elapsed) * share_rate)
  end
  return full
end
