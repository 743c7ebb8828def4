// Package auth says who a request comes from, and whether it may pass the
// waiting room.
//
// A login token and an entry token are JWTs signed with HS256, each with its
// own key, type and audience, so that neither can stand in for the other. The
// algorithm is pinned: a token that names another one is refused before its
// signature is looked at. The entry token carries the key's id, and old keys go
// on verifying after a new one has begun to sign.
//
//	token   header typ        sub      uid     lasts     travels in
//	login   login+jwt         member   -       24 h      Authorization: Bearer
//	entry   entry+jwt         event    member  10 min    x-queue-entry-token, else the cookie urr-entry-token-<event>
//
// A request with the header is judged by the header alone, also when the cookie
// would be right.
//
//	property                                                    proven by
//	a token that was changed, expired, or signed otherwise
//	is refused, and the reason is told apart                    TestLoginToken, TestEntryToken
//	one kind of token never passes for the other                TestTokensAreNotInterchangeable
//	any byte changed in a token makes it invalid                TestTamperedToken
//	keys rotate without refusing what was issued before         TestKeyRing
//	secrets under 32 bytes are refused                          TestShortSecret
//	the header wins over the cookie, without falling back       TestEntryPrecedence
//	the cookie is HttpOnly, Strict, and Secure on https         TestEntryCookie
package auth
