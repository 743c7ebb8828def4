// Package archive keeps rarely read data outside the database: one object for each id
// and tier, in a folder ([Dir]) or in a bucket of an object store that speaks
// Amazon's S3 protocol ([S3]). [Open] makes the one that a URL names:
//
//	s, err := archive.Open(ctx, "s3://snapshots/artists?region=eu-central-1")
//	…
//	err = s.Put(ctx, 1, "42", snapshot) // nil once the object is safe
//
//	property                                                    proven by
//	an object is whole or not there, whenever the power fails   TestPutIsAtomic
//	putting again replaces, deleting again is no error          TestStore
//	any id is a safe file name                                  TestNames
//	S3: each request is signed, its body included               TestStore, TestS3Refusals
//	S3: a server that is busy, slow or breaks off is asked
//	again, and an upload that it did not confirm has failed     TestS3Trouble
//	S3: no error names a secret                                 TestS3Refusals, TestOpenRefuses
//	a bad URL is refused with an example of a good one          TestOpenRefuses
//
// # Failure modes
//
// [S3] asks four times, each time for as long as the parameter timeout says, and
// then fails. Of an object that is larger than 16 MiB it reads nothing. It knows
// nothing of a bucket's versioning and lifecycle rules.
//
// [Dir] needs a file system that renames atomically and keeps synced data; a network
// file system may do neither. A writer that is killed leaves at most one temporary
// file per object, which the next Put of that object replaces.
package archive

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
)

// ErrNotFound is returned by Get for an object that is not there.
var ErrNotFound = errors.New("archive: no such object")

// Store keeps objects. When Put returns nil the object outlives a crash of the
// machine. Put replaces; Delete of a missing object is no error.
type Store interface {
	Put(ctx context.Context, tier int, id string, data []byte) error
	Get(ctx context.Context, tier int, id string) ([]byte, error)
	Delete(ctx context.Context, tier int, id string) error
}

// objectName spreads the objects of a tier over 256 folders. The name is
// hexadecimal, so that ids which differ in case only differ on every file system.
func objectName(tier int, id string) string {
	h := fnv.New32a()
	h.Write([]byte(id)) //nolint:errcheck // a hash takes everything
	return fmt.Sprintf("tier-%d/%02x/%s.gz", tier, h.Sum32()&0xff, hex.EncodeToString([]byte(id)))
}
