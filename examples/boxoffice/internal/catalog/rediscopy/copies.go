package rediscopy

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

var (
	//go:embed lua/put.lua
	putText string
	//go:embed lua/evict.lua
	evictText string
)

// lasts is how long a copy is kept.
const lasts = 2 * time.Second

// Copies is a [catalog.Copies] in Redis. Use New.
type Copies struct {
	client     redis.UniversalClient
	keys       []string // the copy, its version
	put, evict *redis.Script
}

var _ catalog.Copies = (*Copies)(nil)

// New makes Copies on a client, which the caller closes. The keys begin with the
// prefix. It sends nothing.
func New(client redis.UniversalClient, prefix string) *Copies {
	key := prefix + "cache:{shows:" + layout(reflect.TypeFor[catalog.Show]()) + "}"
	return &Copies{
		client: client, keys: []string{key, key + ":version"},
		put: redis.NewScript(putText), evict: redis.NewScript(evictText),
	}
}

// layout differs for types with other fields.
func layout(t reflect.Type) string {
	h := fnv.New32a()
	var fields func(t reflect.Type)
	fields = func(t reflect.Type) {
		fmt.Fprintln(h, t)
		switch t.Kind() {
		case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
			fields(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				fmt.Fprintln(h, t.Field(i).Name)
				fields(t.Field(i).Type)
			}
		}
	}
	fields(t)
	return fmt.Sprintf("%08x", h.Sum32())
}

// Get implements [catalog.Copies].
func (c *Copies) Get(ctx context.Context) (copied []byte, eviction string, err error) {
	found, err := c.client.MGet(ctx, c.keys...).Result()
	if err != nil {
		return nil, "", fmt.Errorf("rediscopy: get: %w", err)
	}
	eviction = "0"
	if text, ok := found[1].(string); ok {
		eviction = text
	}
	if text, ok := found[0].(string); ok {
		copied = []byte(text)
	}
	return copied, eviction, nil
}

// Put implements [catalog.Copies].
func (c *Copies) Put(ctx context.Context, eviction string, copied []byte) error {
	err := c.put.Run(ctx, c.client, c.keys, eviction, lasts.Milliseconds(), copied).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("rediscopy: put: %w", err)
	}
	return nil
}

// Evict implements [catalog.Copies].
func (c *Copies) Evict(ctx context.Context) error {
	if err := c.evict.Run(ctx, c.client, c.keys).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("rediscopy: evict: %w", err)
	}
	return nil
}
