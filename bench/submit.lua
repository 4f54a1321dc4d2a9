-- wrk: every request is a fresh report. Ids come from the system's randomness, so that no two threads or runs share one.
local random = io.open("/dev/urandom", "rb")
local function id()
  return (random:read(16):gsub(".", function(c) return string.format("%02x", string.byte(c)) end))
end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  return wrk.format(nil, nil, nil, '{"id":"' .. id() .. '","reports":[1,3,0]}')
end
done = function(summary, latency, requests)
  local errors = summary.errors
  print(string.format("RESULT %d %d %.3f %d", summary.requests, summary.duration, latency:percentile(99) / 1000,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
