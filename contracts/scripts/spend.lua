-- spend: takes the price of a request out of what its account may spend, or says what forbids it and until when. Rate and
-- burst by the generic cell rate algorithm (GCRA, as ATM's traffic management 4.0 has it), in whole microseconds.
-- Nothing changes unless everything allows it. What is 0 is not limited.
--
-- KEYS 1 account (hash)    2 requests under way (sorted set, by the time they are forgotten at)
-- ARGV 1 price in pictures    2 microseconds a picture    3 burst in pictures    4 pictures a day    5 requests at once
--      6 name of the request; one that is under way already pays for more, and is not counted twice
--      7 milliseconds after which it is forgotten, should it never end
--      8 now in microseconds; '' takes the server's clock
--
-- Returns words: 'spent', or what forbids it: 'rate', 'day', 'at-once', or 'burst' (the price is more than ever may come
--                at once), milliseconds until it may be tried again (0 where that is not known), and what is left then:
--                pictures of the burst, milliseconds until all of it is there again, pictures of the day, milliseconds
--                until the day is over
local price, interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local perDay, atOnce = tonumber(ARGV[4]), tonumber(ARGV[5])
local now = tonumber(ARGV[8])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local dayMicros = 86400000000
local today = math.floor(now / dayMicros)
local untilTomorrow = math.ceil(((today + 1) * dayMicros - now) / 1000)

local account = redis.call('HMGET', KEYS[1], 'full', 'day', 'spent')
local spent = tonumber(account[2]) == today and tonumber(account[3]) or 0
-- When all of the burst will be there again.
local full = math.max(tonumber(account[1]) or 0, now)

local function words(how, againInMs)
  local left = interval > 0 and math.floor((burst * interval - (full - now)) / interval) or 0
  return string.format('%s %.0f %.0f %.0f %.0f %.0f', how, againInMs, math.max(0, left), math.ceil((full - now) / 1000),
    math.max(0, perDay - spent), untilTomorrow)
end

if atOnce > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now / 1000))
  if redis.call('ZCARD', KEYS[2]) >= atOnce and not redis.call('ZSCORE', KEYS[2], ARGV[6]) then return words('at-once', 0) end
end
if perDay > 0 and spent + price > perDay then return words('day', untilTomorrow) end
if interval > 0 then
  if price > burst then return words('burst', 0) end
  local early = full + price * interval - burst * interval - now
  if early > 0 then return words('rate', math.ceil(early / 1000)) end
end

full, spent = full + price * interval, spent + price
redis.call('HSET', KEYS[1], 'full', string.format('%.0f', full), 'day', today, 'spent', spent)
redis.call('PEXPIRE', KEYS[1], untilTomorrow + math.ceil((full - now) / 1000) + 60000)
if atOnce > 0 then
  redis.call('ZADD', KEYS[2], string.format('%.0f', now / 1000 + ARGV[7]), ARGV[6])
  -- Edges may allow for different times.
  if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[7]) then redis.call('PEXPIRE', KEYS[2], ARGV[7]) end
end
return words('spent', 0)
