-- Follows stays.lua: counts users that come in and go out.

-- roll_stays makes the cohort of the present the newest.
local function roll_stays()
  local width, all = max(1, math.ceil(stay / (COHORTS - 2))), '<' .. rep('d', OF_ALL)
  if not stays and stays_text and #stays_text == OF_ALL * 8 then
    stays = {unpack(all, stays_text)}
  elseif not stays then
    stays, fresh = {}, true
    for i = 1, OF_ALL do stays[i] = 0 end
  end
  local newest = floor(now / width)
  if stays[OF_SPAN] ~= width then
    for i = OF_INSIDE + 1, OF_ALL do stays[i] = 0 end
    stays[OF_SPAN], stays[OF_NEWEST], stays[OF_SINCE], stays[OF_NEXT] = width, newest, now, now
  end
  while stays[OF_NEWEST] < newest do
    stays[OF_NEWEST] = max(stays[OF_NEWEST] + 1, newest - COHORTS + 1)
    local at = OF_INSIDE + 2 * (stays[OF_NEWEST] % COHORTS)
    stays[at + 1], stays[at + 2] = 0, 0
  end
  stays_changed = true
end

-- came_in counts a user that comes in now.
local function came_in()
  roll_stays()
  stays[OF_ACTIVE], stays[OF_MISS], stays[OF_TICK], stays[OF_BATCH] = stay, no_show, tick, batch
  local at = OF_INSIDE + 2 * (stays[OF_NEWEST] % COHORTS)
  stays[at + 1] = stays[at + 1] + 1
  stays[at + 2] = stays[at + 2] + max(0, now - stays[OF_NEWEST] * stays[OF_SPAN])
end

-- came_from_line counts for a user that has come in that it came from the line in time.
local function came_from_line()
  roll_stays()
  stays[OF_CAME] = stays[OF_CAME] + 1
  admitted(1)
end

-- went_out counts a user whose time inside was to end at ends, and that is out now.
-- The stays of the second count take the place of the others when there are as many
-- as several times the users inside.
local function went_out(ends)
  roll_stays()
  local began = ends - stay
  local number = min(floor(began / stays[OF_SPAN]), stays[OF_NEWEST])
  local at = OF_INSIDE + 2 * (number % COHORTS)
  if number > stays[OF_NEWEST] - COHORTS and stays[at + 1] > 0 then
    stays[at + 1] = stays[at + 1] - 1
    stays[at + 2] = stays[at + 1] > 0 and max(0, stays[at + 2] - began + number * stays[OF_SPAN]) or 0
  end
  local seconds, bucket = (min(now, ends) - began) / 1000, 1
  if seconds >= 1 then bucket = min(floor(2 * math.log(seconds) / math.log(2)) + 1, BUCKETS) end
  if began >= stays[OF_SINCE] then stays[OF_ENDED + bucket] = stays[OF_ENDED + bucket] + 1 end
  if began < stays[OF_NEXT] then return end
  stays[OF_ANEW + bucket] = stays[OF_ANEW + bucket] + 1
  local n = 0
  for i = OF_ANEW + 1, OF_ALL do n = n + stays[i] end
  if n < 4 * max(threshold, 250) then return end
  for i = 1, BUCKETS do stays[OF_ENDED + i], stays[OF_ANEW + i] = stays[OF_ANEW + i], 0 end
  stays[OF_SINCE], stays[OF_NEXT] = stays[OF_NEXT], now
end
