package millrace_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/sqlite"
)

type Sold struct {
	Seat  string
	Cents int
}

func (s Sold) Spec() millrace.Spec { return millrace.On("sales", "Sold", s.Seat) }

func ExampleNew() {
	dir, err := os.MkdirTemp("", "millrace-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	ctx, stop := context.WithCancel(context.Background())
	app, err := millrace.New(sqlite.Open(filepath.Join(dir, "app.db")), millrace.Config{Service: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close() //nolint:errcheck // the end of the program
	if err := app.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	millrace.Handle(app, "receipts", func(_ context.Context, _ *sql.Tx, s Sold) error {
		fmt.Printf("seat %s for %d cents\n", s.Seat, s.Cents)
		stop()
		return nil
	})
	err = app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error { return app.Emit(ctx, tx, Sold{"A1", 4500}) })
	if err != nil {
		log.Fatal(err)
	}
	if err := app.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: seat A1 for 4500 cents
}
