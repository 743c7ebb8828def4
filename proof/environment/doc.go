// Package environment records where and when a measurement is taken: the machine,
// Go, the servers' versions, and the commit.
//
//	property                                              proven by
//	a tree with changes is dirty, results alone are not   TestDirty
//	outside of a repository the commit is unknown         TestNoRepository
//	every server that is given has a version              TestServers
//	a server that does not answer is named, no secret is  TestNoAnswer
//
// Failure modes: facts that cannot be found out are "unknown". Servers are asked
// once; one that does not answer is an error, because nothing could be measured on
// it.
package environment
