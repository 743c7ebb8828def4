-- Asks millrace gate about each request, in HAProxy's configuration:
--
--   http-request lua.millrace_gate 127.0.0.1:8080
--
-- The argument is the address of the judge. A request that may go on gets the judge's
-- signed headers. Any other request gets the judge's answer, and a 503 when there is
-- none.

-- The headers that the judge reads, besides method, host and address. Not accept-encoding: HAProxy
-- 2.6 cuts an answer of Lua at the first zero byte, and packed ones have some.
local asked = { "cookie", "accept", "sec-fetch-dest", "upgrade" }
-- Headers that HAProxy writes itself.
local own = { ["connection"] = true, ["content-length"] = true, ["transfer-encoding"] = true, ["date"] = true, ["keep-alive"] = true }

local function closed(txn)
	local reply = txn:reply({ status = 503, reason = "Service Unavailable" })
	reply:add_header("Content-Type", "text/plain; charset=utf-8")
	reply:add_header("Cache-Control", "no-store")
	reply:add_header("Retry-After", "5")
	reply:set_body("The waiting room does not answer. Try again in a moment.\n")
	txn:done(reply)
end

core.register_action("millrace_gate", { "http-req" }, function(txn, judge)
	local sent = txn.http:req_get_headers()
	local headers = {
		["x-forwarded-method"] = { txn.sf:method() },
		["x-forwarded-host"] = { txn.sf:req_hdr("host") },
		["x-forwarded-uri"] = { txn.sf:pathq() },
		["x-forwarded-for"] = { txn.sf:src() },
		["x-forwarded-proto"] = { txn.f:ssl_fc() == 1 and "https" or "http" },
	}
	for _, name in ipairs(asked) do
		local values = {}
		for _, value in pairs(sent[name] or {}) do
			values[#values + 1] = value
		end
		if #values > 0 then
			headers[name] = values
		end
	end

	local answer = core.httpclient():get({ url = "http://" .. judge .. "/judge", headers = headers, timeout = 5000 })
	local caching = answer and answer.headers and answer.headers["cache-control"]
	if not caching or caching[0] ~= "no-store" then
		return closed(txn) -- all answers of the judge say no-store, and HAProxy's own do not
	end
	if answer.status == 200 then
		for name, values in pairs(answer.headers) do
			if string.find(name, "^x%-millrace%-") then
				for _, value in pairs(values) do
					txn.http:req_set_header(name, value)
				end
			end
		end
		return
	end
	local reply = txn:reply({ status = answer.status, reason = answer.reason })
	for name, values in pairs(answer.headers) do
		if not own[name] then
			for _, value in pairs(values) do
				reply:add_header(name, value)
			end
		end
	end
	reply:set_body(answer.body or "")
	txn:done(reply)
end, 1)
