// Package millrace is the front door: typed events that are emitted in a transaction, published
// when it commits, and handled once. It adds no mechanism: it wires the packages outbox, bus
// and idempotency with their defaults. You can use each of them alone.
//
//	type OrderPlaced struct{ ID, Customer string; Cents int64 }
//
//	func (o OrderPlaced) Spec() millrace.Spec { return millrace.On("order.events", "OrderPlaced", o.Customer) }
//
//	app, err := millrace.New(postgres.Open(url), millrace.Config{Service: "orders"}, kafkabus.Scheme(kafkabus.Config{}))
//	millrace.Handle(app, "totals", func(ctx context.Context, tx *sql.Tx, o OrderPlaced) error {
//		_, err := tx.ExecContext(ctx, `UPDATE totals SET cents = cents + $1 WHERE customer = $2`, o.Cents, o.Customer)
//		return err
//	})
//	err = app.Migrate(ctx)
//	err = app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error { // your rows and the event, or neither
//		return app.Emit(ctx, tx, OrderPlaced{"o-1", "c-1", 1200})
//	})
//	err = app.Run(ctx) // relays, handles, and drains when ctx ends
//
// Without Config.Bus, the database's own log is the transport. An application can start with a
// database alone and move to a broker by changing one URL.
//
// # Guarantees
//
//	property                                                     proven by
//	a committed event is handled, a rolled-back one is not       TestEventIsHandledOnce, TestRolledBackEventIsGone
//	an event that is delivered again has no second effect        TestSecondDeliveryHasNoEffect
//	the key, the effect and the events that a handler emits
//	commit together                                              TestFailedHandlerLeavesNothing, TestHandlerEmits
//	a batch is one transaction                                   TestBatch
//	an effect outside the database happens once, but for a crash
//	between the effect and its record                            TestOutside
//	the records of such effects are pruned as keys are           TestOldLeasesArePruned
//	older versions of an event are read by its upcasts           TestUpcast
//	New connects to no server                                    TestNewDoesNotDial
//	Run returns all errors of registrations at once, before any
//	part starts; New returns those of Config                     TestRunRefusesBadRegistrations, TestNewRefuses
//	a handler that is registered after that is logged            TestALateHandlerIsLogged
//	Run returns the first failure of a part, and nil when it is
//	stopped, also while it starts                                TestAFailureBesideACancellationIsReturned,
//	                                                             TestRunIsStoppedWhileItStarts
//	Run waits for missing tables, and logs how to create them    TestMissingTables
//	the URLs may come from the environment                       TestEnvironment
//	the outbox of SQLite is in the file of its transport         TestSQLiteFile
//	Emit refuses an event that names no type, topic or
//	transaction                                                  TestEmitRefuses, TestAnInvalidEventTakesTheOthersWithIt
//	an application whose broker is absent starts, takes orders,
//	and catches up                                               TestAbsentBroker
//	Run waits for its handlers and leaves no goroutine           TestRunDrains, TestMain
//	a request's id becomes the correlation id of its events      TestWrap, TestWrapKeepsIDs
//
// The tests run on SQLite, PostgreSQL, MariaDB and MySQL. Package millracetest tests your
// handlers.
//
// Further guarantees come from the packages below: order per key, retries, dead letters and
// pauses from package bus, publishing from package outbox, keys from package idempotency.
//
// # Versions
//
// An event carries Spec.Version, "v1" by default. If its type implements [Upcaster], older data
// are upcast one version at a time. Without an Upcaster, data of any version are decoded
// unchanged, which suits versions that only add fields.
//
// # Failure modes
//
//	database absent     Do fails with an infrastructure error; Run waits for it; Ready fails
//	broker absent       Do and Emit work; the relay and the consumers wait, log it, and go on
//	tables missing      Run logs that Migrate makes them, and waits; Emit fails with the same words
//	handler fails       retries, dead letter or pause by its error's class, see package bus
//	one part ends       Run ends the others, drains, and returns the first error
package millrace
