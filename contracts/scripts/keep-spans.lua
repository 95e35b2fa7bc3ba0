-- keep-spans: keeps spans of one trace, and lets traces go that are too old or too many. Those that must go first are
-- the ones whose time is over first: the slowest and the failed have more time, so they outlive the others.
--
-- KEYS 1 traces by start         2 traces by duration, the slowest     3 failed traces by start
--      4 traces by when they go  5 about: trace -> bytes, links (with > before) and names; '@bytes' -> bytes of all
--      6 names: name -> trace
-- ARGV 1 what a trace's own key begins with
--      2 most traces    3 most slow    4 most failed    5 most bytes    6 most spans a trace
--      7 milliseconds that a trace is kept    8 milliseconds that a slow or failed one is
--      9 now in milliseconds; '' takes the server's clock
--     10 trace    11 start in milliseconds
--     12 milliseconds of its request, whose span is then the first; '' where these spans do not tell
--     13 1 where its request failed, else 0
--     14 traces that it links, with spaces between    15 names, with spaces between
--     16… span id, span
--
-- Returns how many of the spans are kept; one that was there already counts.
-- Keys of traces are made up here: these lie on one server. Each ends by itself, so nothing stays where an index is lost.
local prefix, now = ARGV[1], tonumber(ARGV[9])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local usualMs, longMs = tonumber(ARGV[7]), tonumber(ARGV[8])
local id, own = ARGV[10], prefix .. ARGV[10]
-- What Redis needs for a span and for a trace beside their text, about.
local perSpan, perTrace = 128, 512

local function drop(trace)
  redis.call('UNLINK', prefix .. trace)
  for i = 1, 4 do redis.call('ZREM', KEYS[i], trace) end
  local about = redis.call('HGET', KEYS[5], trace)
  if not about then return end
  local bytes = string.match(about, '^%d+')
  for name in string.gmatch(about, ' (%S+)') do
    if redis.call('HGET', KEYS[6], name) == trace then redis.call('HDEL', KEYS[6], name) end
  end
  redis.call('HINCRBY', KEYS[5], '@bytes', -bytes)
  redis.call('HDEL', KEYS[5], trace)
end

-- Where it is not there yet, its key gets this time when it comes.
local function keepUntil(trace, at)
  redis.call('ZADD', KEYS[4], 'GT', at, trace)
  redis.call('PEXPIREAT', prefix .. trace, redis.call('ZSCORE', KEYS[4], trace))
end

-- One that is no longer among the slowest, or the last that failed, has the usual time again, unless it is the other.
local function keepFirst(these, those, most)
  while redis.call('ZCARD', these) > tonumber(most) do
    local trace = redis.call('ZPOPMIN', these)[1]
    local at = trace ~= id and redis.call('ZSCORE', KEYS[4], trace)
    if at and not redis.call('ZSCORE', those, trace) then redis.call('ZADD', KEYS[4], at - longMs + usualMs, trace) end
  end
end

-- Without it nobody would take the others' members away; the traces themselves end by their own time.
if redis.call('EXISTS', KEYS[4]) == 0 then redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[5], KEYS[6]) end

local kept, bytes = 0, 0
local room = tonumber(ARGV[6]) - redis.call('HLEN', own)
-- A trace without its request's span would tell little, and that comes last.
if ARGV[12] ~= '' then room = room + 1 end
for i = 16, #ARGV, 2 do
  if redis.call('HEXISTS', own, ARGV[i]) == 1 then
    kept = kept + 1
  elseif room > 0 then
    redis.call('HSET', own, ARGV[i], ARGV[i + 1])
    room, kept, bytes = room - 1, kept + 1, bytes + #ARGV[i + 1] + perSpan
  end
end

-- Where all is refused nothing is named, or a trace that never ends would have ever more names.
local links, names = ARGV[14], ARGV[15]
if bytes == 0 then links, names = '', '' end
local about = redis.call('HGET', KEYS[5], id)
if not about then about, bytes = '0', bytes + perTrace end
local had = string.match(about, '^%d+')
about = string.sub(about, #had + 1)
for trace in string.gmatch(links, '%S+') do
  if not string.find(about, ' >' .. trace, 1, true) then about, bytes = about .. ' >' .. trace, bytes + #trace end
end
for name in string.gmatch(names, '%S+') do
  if redis.call('HGET', KEYS[6], name) ~= id then
    redis.call('HSET', KEYS[6], name, id)
    about, bytes = about .. ' ' .. name, bytes + 2 * #name + perSpan
  end
end
redis.call('HSET', KEYS[5], id, string.format('%.0f', had + bytes) .. about)
redis.call('HINCRBY', KEYS[5], '@bytes', bytes)

redis.call('ZADD', KEYS[1], 'LT', ARGV[11], id)
if ARGV[12] ~= '' then redis.call('ZADD', KEYS[2], 'GT', ARGV[12], id) end
if ARGV[13] == '1' then redis.call('ZADD', KEYS[3], ARGV[11], id) end
keepFirst(KEYS[2], KEYS[3], ARGV[3])
keepFirst(KEYS[3], KEYS[2], ARGV[4])
if redis.call('ZSCORE', KEYS[2], id) or redis.call('ZSCORE', KEYS[3], id) then
  keepUntil(id, now + longMs)
  -- The batch of a slow request tells why it was slow, so it stays as long.
  for trace in string.gmatch(about, ' >(%x+)') do keepUntil(trace, now + longMs) end
else
  keepUntil(id, now + usualMs)
end

-- How many go in one run is bounded: after an idle night all of them are too old at once.
for _ = 1, 500 do
  local first = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
  if not first[1] then break end
  local most = redis.call('ZCARD', KEYS[4]) > tonumber(ARGV[2])
  local much = tonumber(redis.call('HGET', KEYS[5], '@bytes') or 0) > tonumber(ARGV[5])
  if tonumber(first[2]) > now and not most and not much then break end
  drop(first[1])
end
return kept
