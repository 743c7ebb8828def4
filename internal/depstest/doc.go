// Package depstest proves which modules a user's binary links. It holds only tests.
//
// The tests read `go list -deps` of all modules of the tree, once, for linux/amd64 without cgo,
// so that the result is the same on every machine.
//
//	property                                                    proven by
//	a package links the third-party modules of testdata/links   TestLinks
//	… no fewer, no more, and every public package is there
//	drivers, Prometheus and brokers' clients are linked by the  TestDrivers
//	packages that are named after them, and by no others
//	command line, test and export libraries never reach users   TestNeverLinked
//	imports run one way: examples and cmd, packages, leaves     TestArrows
//	no package imports another's backend, or a sibling's        TestArrows
//	test servers and fakes stay out of users' builds            TestArrows
//	a module that users require imports nothing internal of
//	another one, since versions can be combined                 TestModulesImportNothingInternal
//	the root's module requires no other module of the tree      TestRootStandsAlone
//	examples import public packages of the library, apart from
//	a list that names each exception                            TestExamplesImportPublicPackages
//	how many modules the outbox brings, none of them heavy      TestGraphOfAUser
//	how many exported names users have to choose from           TestNames
//	every module of the tree is in go.work, or has a script
//	that make test runs                                         TestWorkIsComplete
//	each of these checks finds planted faults                   TestPlanted…
//
// A new public package, or a new dependency of one, fails TestLinks until
//
//	go test ./internal/depstest -run TestLinks -update
//
// has written it into the table, for review. The other tables are in Go and are changed by hand:
// their content is a decision, not a measurement.
package depstest
