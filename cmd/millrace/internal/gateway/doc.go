// Package gateway runs a gate, package queue/gate, as a program: its room in memory or
// in Redis, the listeners, the operator's routes, reload and shutdown.
//
//	property                                                       proven by
//	a visitor is served as by the package                          TestServes
//	operators have metrics, health, readiness and figures on a
//	listener of their own                                          TestAdmin
//	a reload changes secrets, threshold and patterns, and no
//	visitor loses the place                                        TestReload
//	a wrong reload changes nothing                                 TestReload
//	a reload while Redis is away holds                             TestReloadWhileRedisIsAway
//	shutdown completes the requests in flight                      TestShutdownDrains
//	a restart on a listener that is handed over refuses and cuts
//	no connection                                                  TestGateRestartsUnderLoad
//	a restart on Redis loses no place                              TestRestartOnRedis
//	a restart with a file loses no place, and one gate at a time
//	has the file                                                   TestRestartWithAFile
//	… after SIGKILL no place that was saved                        TestAKilledGateLosesNoSavedPlace
//	a failed save is told, and serving goes on                     TestAFailedSaveIsTold
//	the site, Redis or a gate is killed: each visitor gets the
//	stated answer, no other enters, and no place is lost           TestKilledInTurn
//	a member that the site has signed joins in a lane, and has one
//	place in all browsers                                          TestMembers
//	an operator turns the challenge on while the sale runs         TestChallengeSwitch
//	no visitor enters beyond the stock that the site tells, and a
//	site that tells none follows the rules of package queue        TestStock
//	a proxy may speak HTTP/2 without TLS to it                     TestServesHTTP2
package gateway
