// Package millracetest tests the handlers of an application: on its own database, with the
// transport in memory, one step at a time in the test's goroutine.
//
//	app, err := newApp(sqlite.Open("sqlite://" + filepath.Join(t.TempDir(), "app.db"))) // your constructor
//	kit := millracetest.New(t, app)
//	placeOrder(ctx, app, "o-1", 1200)                        // your code, which emits
//	placed := millracetest.RequireEmitted[OrderPlaced](kit)  // committed, and would be published
//	require.Empty(t, kit.Deliver())                          // to each group that handles it
//	kit.Redeliver()                                          // a second time: no second effect
//
// Nothing waits for real time, and nothing runs beside the test. A handler that fails is
// tried again when [Kit.Advance] has brought the kit's clock to its next attempt, and
// becomes a dead letter by its consumer's own policy.
//
//	property                                                   proven by
//	what was committed is told, in the order of its key, and
//	what was rolled back is not                                TestEmitted
//	each group handles an event, and what handlers emit, once  TestDeliver
//	a second delivery has no second effect                     TestRedeliver
//	retries, pauses, dead letters and the order of a key are
//	those of package bus                                       TestSameAsBus, TestKeyWaits
//	a crash before the commit leaves nothing, and the event
//	is handled again                                           TestCrash
//	a key that is older than its retention is forgotten        TestRetention
//	each Require fails, and says what is there                 TestRequireSays
//	registrations that Run would refuse fail the test          TestNewFails
//
// The tests run on SQLite, PostgreSQL, MariaDB and MySQL.
//
// Failure modes: an event that another process publishes, or a handler of another
// service, is not there: emit such an event with [Kit.Emit], and test that service by its
// own kit. Config.Bus is not used; how a broker behaves is not tested.
package millracetest
