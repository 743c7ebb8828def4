// Package millracetest tests the handlers of an application on its own database, with an
// in-memory transport, one step at a time in the test's goroutine.
//
//	app, err := newApp(sqlite.Open("sqlite://" + filepath.Join(t.TempDir(), "app.db"))) // your constructor
//	kit := millracetest.New(t, app)
//	placeOrder(ctx, app, "o-1", 1200)                        // your code, which emits
//	placed := millracetest.RequireEmitted[OrderPlaced](kit)  // committed, and would be published
//	require.Empty(t, kit.Deliver())                          // to each group that handles it
//	kit.Redeliver()                                          // a second time: no second effect
//
// Nothing waits for real time, and nothing runs beside the test. After a failure, [Kit.Advance]
// moves the kit's clock to the handler's next attempt and retries it. An event becomes a dead
// letter by its consumer's own policy.
//
//	property                                                   proven by
//	committed events are returned, in the order of their key,
//	and rolled-back events are not                             TestEmitted
//	each group handles an event once, emitted events included  TestDeliver
//	a second delivery has no second effect                     TestRedeliver
//	retries, pauses, dead letters and the order of a key are
//	those of package bus                                       TestSameAsBus, TestKeyWaits
//	a crash before the commit leaves nothing, and the event
//	is handled again                                           TestCrash
//	a key that is older than its retention is forgotten        TestRetention, TestRetentionOfLeases
//	each Require fails and lists the committed events          TestRequireSays
//	registrations that Run would refuse fail the test          TestNewFails
//
// The tests run on SQLite, PostgreSQL, MariaDB and MySQL.
//
// Failure modes: events that another process publishes and handlers of another service are
// absent. Emit such an event with [Kit.Emit], and test the other service with its own kit.
// Config.Bus is not used; the behaviour of a broker is not tested.
package millracetest
