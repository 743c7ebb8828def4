package driver

import (
	"context"
	"errors"
)

// ErrNoTransaction is returned by [BatchStore.Fresh] outside a transaction: the keys would be
// recorded even if the effects are rolled back.
var ErrNoTransaction = errors.New("idempotency: Fresh needs the transaction of the effects; call it inside sqltx.Do on the store's database, or use DoBatch")

// BatchStore is a [Store] that claims many keys in one statement.
type BatchStore interface {
	Store
	// OnceBatch records the new keys, in a transaction begun or joined as by Once, and runs fn
	// with the positions of their records, in the given order. A repeated key is new once, at
	// its first position. If no key is new, fn does not run. OnceBatch returns the positions;
	// an error of fn is returned unchanged, and leaves no key.
	OnceBatch(ctx context.Context, records []Record, fn func(ctx context.Context, fresh []int) error) (fresh []int, err error)
	// Fresh records the new keys in the transaction that ctx carries, and returns the positions
	// of their records, as OnceBatch does. Keys and effects become visible when that
	// transaction commits. Outside a transaction Fresh returns [ErrNoTransaction].
	Fresh(ctx context.Context, records []Record) (fresh []int, err error)
}
