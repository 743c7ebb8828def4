// Package api is the box office's JSON API.
//
// Errors are application/problem+json with a stable type under /problems/, a
// sentence that says what to do, and members of their own where a program needs
// them (the taken seats, the expected amount, the field). The one exception is
// the answer to a request without a valid entry token, whose form the waiting
// room's clients know:
//
//	403 {"error": "Queue entry token required", "redirectTo": "/queue"}
//	403 {"error": "Queue entry token invalid", "reason": "expired", "redirectTo": "/queue"}
//
// with the reasons malformed, wrong_algorithm, wrong_type, bad_signature,
// expired, wrong_event and wrong_user.
//
// A body is one JSON object of known fields and at most 1 MB. A payment needs
// an Idempotency-Key header of 1 to 128 letters, digits and -_.: characters.
//
// The waiting room admits everybody at once here: it issues the entry token
// that the guarded routes ask for, behind the HTTP contract of a real queue.
//
// What writes is bounded: at most 256 such requests are at work, the others
// wait in order of arrival for up to 10 s and are then answered 503 with
// Retry-After, so that a crowd makes requests slow and not the process.
//
// GET /api/artists/{id} answers at once with what the mirror has, needs no sign-in,
// and is 503 where artists are not mirrored.
//
// An operator looks after dead letters:
//
//	GET  /api/admin/dead-letters/{topic}          the letters, oldest first (?limit=100)
//	GET  /api/admin/dead-letters/{topic}/{id}     one, with its payload
//	PUT  /api/admin/dead-letters/{topic}/{id}     {payload, encoding: "utf-8"|"base64"}: another payload, 204
//	POST /api/admin/dead-letters/{topic}/redrive  {ids|all, dryRun, rate, before}
//	POST /api/admin/dead-letters/{topic}/drop     the same
//
// The last two work for 15 s at most. When that was not enough they answer
// {more: true, before}; the same request with that "before" goes on.
//
//	property                                                        proven by
//	every kind of bad input has its own clear answer                TestBadInput
//	a body over 1 MB is refused, on every route                     TestLargeBody
//	routes ask for sign-in, entry token and admin token             TestWhoMay
//	a payment's key: repeated, reused, missing                      TestPaymentKey
//	an error never shows what is inside                             TestInternalError
//	too many writers wait, then are sent away                       TestBusy
//	artists: bad ids, and no mirror, have their answers             TestArtistBadInput, TestArtistsOff (package app)
//	dead letters: every bad request has its own answer              TestDeadLetterErrors
package api
