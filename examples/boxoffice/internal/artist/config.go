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
	// FreshFor is how long after a check a snapshot is FRESH; 1 h when zero.
	FreshFor time.Duration
	// MissingFor is how long the upstream's answer that it has no such artist is valid,
	// before a read asks again; 1 h when zero.
	MissingFor time.Duration
	// ReadTimeout bounds a read of the database, and one of the archive; 2 s
	// when zero.
	ReadTimeout time.Duration
	// RefreshEvery is how old a check must be before [Reader.Refresh] asks for
	// another; 10 s when zero.
	RefreshEvery time.Duration
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
	// TouchEvery is the precision of an artist's last read, on which tiers depend; 5 min
	// when zero. Less costs more writes.
	TouchEvery time.Duration
	// HighLag returns how many requests of high priority wait, from memory; it must not
	// wait for anything. Nil means that the lag is unknown.
	HighLag func() (messages int64, known bool)
	// Archive is where old snapshots are; nil when none are archived.
	Archive archive.Store
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) validate() error {
	for _, d := range []time.Duration{c.FreshFor, c.MissingFor, c.ReadTimeout, c.AskTimeout, c.AskedFor, c.TouchEvery, c.RefreshEvery} {
		if d < 0 {
			return errors.New("artist: FreshFor, MissingFor, ReadTimeout, AskTimeout, AskedFor, TouchEvery and RefreshEvery must not be negative; use 0 for the defaults")
		}
	}
	if c.Queue < 0 || c.Deferred < 0 || c.Askers < 0 {
		return errors.New("artist: Queue, Deferred and Askers must not be negative; use 0 for the defaults")
	}
	return nil
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.FreshFor, time.Hour}, {&c.MissingFor, time.Hour}, {&c.ReadTimeout, 2 * time.Second},
		{&c.AskTimeout, 5 * time.Second}, {&c.AskedFor, 5 * time.Second}, {&c.TouchEvery, 5 * time.Minute},
		{&c.RefreshEvery, 10 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
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
