// Package millrace is the front door: typed events that are emitted in a transaction,
// published when it commits, and handled once. It adds no mechanism. It wires the packages
// outbox, bus and idempotency with their defaults, and each of them can be used alone.
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
// Without Config.Bus the database's own log is the transport, so an application begins with
// a database alone, and moves to a broker by one URL.
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
//	between it and its note                                      TestOutside
//	older versions of an event are read by its upcasts           TestUpcast
//	New connects to no server                                    TestNewDoesNotDial
//	mistakes in registrations are told by Run before anything
//	starts, all of them at once; those of Config by New          TestRunRefusesBadRegistrations, TestNewRefuses
//	Run waits for missing tables, and names what makes them      TestMissingTables
//	the URLs may come from the environment                       TestEnvironment
//	Emit refuses an event that names no type, topic or
//	transaction                                                  TestEmitRefuses
//	an application whose broker is absent starts, takes orders,
//	and catches up                                               TestAbsentBroker
//	Run lets handlers finish, and leaves no goroutine            TestRunDrains, TestMain
//	a request's id becomes the correlation id of its events      TestWrap, TestWrapKeepsIDs
//
// The tests run on SQLite, PostgreSQL, MariaDB and MySQL. Package millracetest tests your
// handlers.
//
// What lies beneath is promised by the packages themselves: order per key, retries, dead
// letters and pauses by package bus, publishing by package outbox, keys by package
// idempotency.
//
// # Versions
//
// An event carries Spec.Version, "v1" by default. A type that implements [Upcaster] is
// asked to bring older data forward, one version a step. Without it, data of any version is
// decoded as it is, which suits versions that only add fields.
//
// # Failure modes
//
//	database absent     Do fails with an infrastructure error; Run waits for it; Ready fails
//	broker absent       Do and Emit work; the relay and the consumers wait, log it, and go on
//	tables missing      Run logs that Migrate makes them, and waits; Emit fails with the same words
//	handler fails       retries, dead letter or pause by its error's class, see package bus
//	one part ends       Run ends the others, drains, and returns the first error
package millrace
