package millracetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/millracetest"
	"github.com/millrace-go/millrace/sqlite"
)

type OrderPlaced struct {
	ID    string
	Cents int64
}

func (o OrderPlaced) Spec() millrace.Spec { return millrace.On("orders", "OrderPlaced", o.ID) }

type Welcomed struct{ Order string }

func (w Welcomed) Spec() millrace.Spec { return millrace.On("mails", "Welcomed", w.Order) }

// example returns a stand-in for the *testing.T of your test, and its database db.
func example() (t testing.TB, db millrace.Database[*sql.Tx], end func()) {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	return shown{}, sqlite.Open("sqlite://" + filepath.Join(folder, "app.db")), func() { os.RemoveAll(folder) }
}

type shown struct{ testing.TB }

func (shown) Helper()                        {}
func (shown) Context() context.Context       { return context.Background() }
func (shown) Fatalf(format string, a ...any) { fmt.Printf(format+"\n", a...) }

// An event that a handler emits is visible once the handler's transaction has committed, and
// only once.
func Example() {
	t, db, end := example()
	defer end()
	app, err := millrace.New(db, millrace.Config{Service: "shop"})
	require.NoError(t, err)
	defer app.Close()
	millrace.Handle(app, "welcome", func(ctx context.Context, tx *sql.Tx, o OrderPlaced) error {
		return app.Emit(ctx, tx, Welcomed{o.ID})
	})

	kit := millracetest.New(t, app)
	kit.Emit(OrderPlaced{"o-1", 1200})
	fmt.Println(kit.Deliver())
	fmt.Println(millracetest.RequireEmitted[Welcomed](kit))
	kit.Redeliver()
	fmt.Println(millracetest.Emitted[Welcomed](kit))
	millracetest.RequireEmitted(kit, func(o OrderPlaced) bool { return o.Cents > 5000 })
	// Output:
	// []
	// {o-1}
	// [{o-1}]
	// millracetest: no millracetest_test.OrderPlaced that matches was committed; committed were:
	// 	orders OrderPlaced, key "o-1": {"ID":"o-1","Cents":1200}
	// 	mails Welcomed, key "o-1": {"Order":"o-1"}
}

// A failed handler is retried when its next attempt is due.
func ExampleKit_Advance() {
	t, db, end := example()
	defer end()
	app, err := millrace.New(db, millrace.Config{Service: "shop"})
	require.NoError(t, err)
	defer app.Close()
	calls := 0
	millrace.HandleOutside(app, "mail", func(context.Context, OrderPlaced) error {
		if calls++; calls < 3 {
			return errors.New("the mail server is busy")
		}
		return nil
	})

	kit := millracetest.New(t, app)
	kit.Emit(OrderPlaced{"o-1", 1200})
	for _, f := range append(kit.Deliver(), kit.Advance(time.Second)...) {
		fmt.Println(f.Attempt, f.Err, "-", f.Then)
	}
	fmt.Println(kit.Advance(2*time.Second), calls, len(kit.DeadLetters()))
	// Output:
	// 1 the mail server is busy - the next attempt is due in 1s
	// 2 the mail server is busy - the next attempt is due in 2s
	// [] 3 0
}
