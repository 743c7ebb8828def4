// Package archive keeps what is rarely read out of the database: one object for
// each id and tier, in a folder here, or in an object store behind the same
// interface.
//
//	property                                                    proven by
//	an object is whole or not there, whenever the power fails   TestPutIsAtomic
//	putting again replaces, deleting again is no error          TestStore
//	any id is a safe file name                                  TestNames
//
// # Failure modes
//
// [Dir] needs a file system that renames atomically and keeps what was synced; a
// network file system may do neither. A writer that is killed leaves at most one
// temporary file per object, which the next Put of that object replaces.
package archive

import (
	"context"
	"errors"
)

// ErrNotFound is returned by Get for an object that is not there.
var ErrNotFound = errors.New("archive: no such object")

// Store keeps objects. When Put returns nil the object outlives a crash of the
// machine. Put replaces; Delete of what is not there is no error.
type Store interface {
	Put(ctx context.Context, tier int, id string, data []byte) error
	Get(ctx context.Context, tier int, id string) ([]byte, error)
	Delete(ctx context.Context, tier int, id string) error
}
