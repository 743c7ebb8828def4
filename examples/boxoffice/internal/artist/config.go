package artist

import (
	"cmp"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
)

// Config of a [Mirror]. The zero value works.
type Config struct {
	// ReadTimeout bounds a read of the database, and one of the archive; 2 s
	// when zero.
	ReadTimeout time.Duration
	// Queue is how many reads may wait in memory to have their refresh asked for; 1,024
	// when zero. Reads without room are written to the database, and asked for from
	// there. Each costs some 100 bytes.
	Queue int
	// Deferred is how many may wait in memory to be written; 10,000 when zero.
	// When as many wait, a read waits for the database, for ReadTimeout at most.
	Deferred int
	// Holder names this process in the lease for repeating stored questions; a random
	// name when empty.
	Holder string
	// Askers is how many refreshes are asked for at once; 32 when zero. With a broker
	// that takes a second, it is also the number in a second.
	Askers int
	// AskTimeout bounds one question; 5 s when zero.
	AskTimeout time.Duration
	// AskedFor is how long this process remembers that it asked, and does not
	// ask again; 5 s when zero.
	AskedFor time.Duration
	// HighLag returns how many requests of high priority wait, from memory; it must not
	// wait for anything. Nil means that the lag is unknown.
	HighLag func() (messages int64, known bool)
	// Archive is where old snapshots are; nil when none are archived.
	Archive archive.Store
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) validate() error {
	if min(c.ReadTimeout, c.AskTimeout, c.AskedFor) < 0 || min(c.Queue, c.Deferred, c.Askers) < 0 {
		return errors.New("artist: ReadTimeout, AskTimeout, AskedFor, Queue, Deferred and Askers must not be negative; use 0 for the defaults")
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 2*time.Second)
	c.AskTimeout = cmp.Or(c.AskTimeout, 5*time.Second)
	c.AskedFor = cmp.Or(c.AskedFor, 5*time.Second)
	c.Queue = cmp.Or(c.Queue, 1024)
	c.Deferred = cmp.Or(c.Deferred, 10_000)
	c.Askers = cmp.Or(c.Askers, 32)
	c.Holder = cmp.Or(c.Holder, rand.Text())
	if c.HighLag == nil {
		c.HighLag = func() (int64, bool) { return 0, false }
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}
