// Package admissions keeps a row of each admission to a waiting room, for the
// operator. It reads the notices that package queuenotice publishes, by a consumer
// group of its own, so that other programs get each of them too.
//
//	log, err := admissions.New(store, admissions.Config{Holder: holder})
//	…
//	err = runner.Add(log.Consumer("queue.admitted"))
//	…
//	all, err := log.Newest(ctx, 50)
//
//	property                                                     proven by
//	a notice that comes twice makes one row                      TestRows
//	a user admitted again has a row for each admission           TestRows
//	the list is bounded, the newest come first                   TestRows
//	a malformed notice fails permanently and delays no other     TestRefused
//	rows go after seven days, in bounded steps                   TestForget
//	an entry token is never kept                                 TestRows
//
// Notices are fire and forget: an admission whose notice was dropped has no row. The
// waiting room's own figures count them all.
package admissions
