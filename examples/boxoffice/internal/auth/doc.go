// Package auth identifies the member that sent a request. Package queue/token decides
// whether the member may pass the waiting room.
//
// A sign-in is a JWT signed with HS256, with a key, a type and an audience of its
// own, so that no token of another kind can stand in for it, also when all are
// made of one secret. The algorithm is pinned: a token that names another one is
// refused before its signature is looked at. It travels in the header
// Authorization: Bearer and lasts 24 h.
//
//	property                                                    proven by
//	a token that was changed, expired, or signed otherwise
//	is refused, with the reason                                 TestLoginToken
//	an entry token never passes for it, nor it for one          TestTokensAreNotInterchangeable
//	any byte changed in a token makes it invalid                TestTamperedToken
//	secrets under 32 bytes are refused                          TestShortSecret
package auth
