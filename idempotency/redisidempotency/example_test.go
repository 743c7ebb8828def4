package redisidempotency_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/redisidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

// Redis in front of a database: a duplicate costs no transaction.
func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
	defer client.Close()
	dir, err := os.MkdirTemp("", "redisidempotency")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sqlitedb.Open(filepath.Join(dir, "app.db"), sqlitedb.Config{})
	check(err)
	defer db.Close()
	ctx := context.Background()
	truth, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	check(err)
	check(truth.Migrate(ctx))

	fast, err := redisidempotency.New(client, redisidempotency.Config{})
	check(err)
	store, err := idempotency.NewLayered(fast, truth, idempotency.LayeredConfig{})
	check(err)
	for range 2 { // counted, true; then false: it is a duplicate
		fmt.Println(store.Once(ctx, driver.Record{Key: "stats:e1"}, func(context.Context) error {
			fmt.Println("counted")
			return nil
		}))
	}
	fmt.Println(fast.Seen(ctx, "stats:e1")) // true
}

func ExampleNewLeases() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
	defer client.Close()

	store, err := redisidempotency.NewLeases(client, redisidempotency.Config{})
	check(err)
	ctx := context.Background()
	c, err := store.Claim(ctx, driver.Record{Key: "mailer:e1"}, time.Minute)
	fmt.Println(c.State, err) // claimed
	other, err := store.Claim(ctx, driver.Record{Key: "mailer:e1"}, time.Minute)
	fmt.Println(other.State, other.Wait > 50*time.Second, err) // taken, true
	fmt.Println(store.Complete(ctx, c, []byte("sent")))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
