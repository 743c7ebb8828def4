package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/redisidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/rawurl"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/sqltx"
)

// keyFlags name the stores of a group's idempotency keys.
type keyFlags struct {
	urls                  []string
	layout, table, prefix string
}

func (k *keyFlags) of(cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	f.StringArrayVar(&k.urls, "keys", nil, "URL of a store of the group's idempotency keys, a database or a Redis; again for a second one, as where Redis stands before SQL")
	f.StringVar(&k.layout, "keys-layout", database.Layouts()[0], "layout of the table: "+strings.Join(database.Layouts(), " or "))
	f.StringVar(&k.table, "keys-table", "", "name of the table; the layout's name by default")
	f.StringVar(&k.prefix, "keys-prefix", "", "prefix of the keys in Redis; idempotency: by default")
	offersURLs(cmd, "keys", append(dbSchemes(), redisSchemes()...)...)
	offers(cmd, "keys-layout", database.Layouts()...)
	return cmd
}

func (k *keyFlags) validate() error {
	for _, raw := range k.urls {
		if _, err := database.DialectOf(raw); err != nil && !isRedis(raw) {
			return usage("--keys is no URL of a database or a Redis; write postgres://…, mysql://…, sqlite://path or redis://…")
		}
	}
	return nil
}

func isRedis(raw string) bool {
	scheme, _, _ := strings.Cut(raw, "://")
	return scheme == "redis" || scheme == "rediss"
}

// keyStore is an opened store of keys.
type keyStore struct {
	driver.Forgetter
	close func() error
}

type keyStores []keyStore

// openKeys opens the stores, and asks each of them once, so that problems show before
// anything is done.
func (a *app) openKeys(ctx context.Context, k keyFlags) (all keyStores, err error) {
	for _, raw := range k.urls {
		a.urls = append(a.urls, raw)
		store, err := openKeyStore(ctx, raw, k)
		if err == nil {
			all = append(all, store)
			_, err = store.Recorded(ctx, []string{"millrace:none"})
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--keys: %w", rawurl.Hide(err, raw)), all.close())
		}
	}
	return all, nil
}

func openKeyStore(ctx context.Context, raw string, k keyFlags) (keyStore, error) {
	if isRedis(raw) {
		client, err := redisdb.Open(raw, redisdb.Config{})
		if err != nil {
			return keyStore{}, err
		}
		s, err := redisidempotency.New(client, redisidempotency.Config{Prefix: k.prefix})
		if err != nil {
			return keyStore{}, errors.Join(err, client.Close())
		}
		return keyStore{s, client.Close}, nil
	}
	processed, err := database.ProcessedEvents(k.layout)
	if err != nil {
		return keyStore{}, usageError{err}
	}
	d, err := database.Connect(ctx, raw, false, 0)
	if err != nil {
		return keyStore{}, err
	}
	s, err := sqlidempotency.New(d.DB, sqlidempotency.Config{
		Dialect: sqltx.Dialect(d.Dialect), ProcessedEvents: processed, Table: k.table,
	})
	if err != nil {
		return keyStore{}, errors.Join(usageError{err}, d.Close())
	}
	return keyStore{s, d.Close}, nil
}

func (s keyStores) close() (err error) {
	for _, store := range s {
		err = errors.Join(err, store.close())
	}
	return err
}

// recorded counts the keys that a store has; with several stores, the highest count.
func (s keyStores) recorded(ctx context.Context, keys []string) (n int, err error) {
	return s.most(func(store keyStore) (int, error) { return store.Recorded(ctx, keys) })
}

// forget removes keys from all stores.
func (s keyStores) forget(ctx context.Context, keys []string) (n int, err error) {
	return s.most(func(store keyStore) (int, error) { return store.Forget(ctx, keys) })
}

func (s keyStores) most(of func(keyStore) (int, error)) (most int, err error) {
	for _, store := range s {
		n, err := of(store)
		if err != nil {
			return most, err
		}
		most = max(most, n)
	}
	return most, nil
}

// keyChunk is the number of keys in one request.
const keyChunk = 1000

// interval is the messages of a topic since a time, for a group.
type interval struct {
	bus          *bus.Bus
	topic, group string
	since        time.Time
	progress     *progress

	events, others int // of the last reading
}

// each reads the interval, passes the keys of its events to do, and adds up its results.
func (i *interval) each(ctx context.Context, do func(context.Context, []string) (int, error)) (sum int, err error) {
	i.events, i.others = 0, 0
	keys := make([]string, 0, keyChunk)
	flush := func() error {
		n, err := do(ctx, keys)
		sum, keys = sum+n, keys[:0]
		i.progress.draw("%s read", counted(i.events, "event"))
		return err
	}
	err = i.bus.Read(ctx, i.topic, bus.Place{Since: i.since}, func(m *message.Message) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := event.Decode(m)
		if err != nil {
			i.others++
			return nil
		}
		i.events++
		if keys = append(keys, i.group+":"+e.ID); len(keys) < keyChunk {
			return nil
		}
		return flush()
	})
	if err == nil && len(keys) > 0 {
		err = flush()
	}
	return sum, err
}
