// Package contracts proves that the two contract files of the box office,
// docs/openapi.yaml and docs/asyncapi.yaml, and the running app say the same. It
// holds tests only.
//
//	property                                                     proven by
//	the OpenAPI file is valid, its examples fit its schemas      TestOpenAPI
//	its routes are those that the app serves, both ways          TestRoutes
//	every request and answer of a walk through the running app
//	is as the file says, with no field, status or problem more   TestWalk
//	every answer that the file has is seen, or excused           TestWalk, TestExcuses
//	no input causes an answer of 5xx, or one that
//	the file does not have                                       TestMangled
//	the AsyncAPI file is AsyncAPI 3.0, with examples that hold   TestAsyncAPI
//	its topics, figures, groups, retries and dead letters are
//	those that the app declares                                  TestChannels
//	every message that the app publishes is as the file says,
//	in structured mode and in binary, and every one is seen      TestWalk/messages
//	each of these checks finds a planted fault                   TestPlanted…
//
// The schemas of the files permit unknown fields, so that fields can be added later. The
// tests do not: a field that is not in the file fails the test, and must be added to the
// file.
//
// testdata/asyncapi has the JSON schema of AsyncAPI 3.0.0 as the npm package
// @asyncapi/specs 6.11.1 publishes it, under the licence beside it.
//
// The examples of docs/asyncapi.yaml are messages that the app has published:
//
//	go test ./examples/boxoffice/internal/contracts -run TestWalk -samples samples.json
//
// writes one of each.
package contracts
