package redrive

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

var (
	// ErrNotFound is returned for an id that no pending dead letter has.
	ErrNotFound = errors.New("redrive: no such dead letter")
	// ErrPayload is returned by Edit for a payload that cannot replace the present one.
	ErrPayload = errors.New("redrive: the new payload is refused")

	errEmptyFilter = errors.New("redrive: the filter is empty; set All to mean every dead letter")
)

// Config configures [Letters]. The zero value works.
type Config struct {
	// Window is how many letters a pass holds at once; 4096 by default. It bounds the memory of
	// a pass, and the letters of a List on a transport without driver.Pender.
	Window int
	// Wait is how long a pass waits for the next letter while the transport reports more; 15 s
	// by default, which is longer than a transport takes to move the partitions of a killed tool
	// to the next one. On a transport that cannot tell its lag, every pass ends with this wait.
	Wait time.Duration
	// Group reads the dead letters; bus/driver.RedriveGroup by default. bus.Runner declares only that
	// one.
	Group string
}

// Letters are the pending dead letters of one dead letter topic: those not yet redriven or
// dropped. Letters holds no resources between calls and may be used by several goroutines. Calls
// on one topic that change letters wait for each other or see only a part; see the package
// comment.
type Letters struct {
	bus   *bus.Bus
	topic string
	cfg   Config
}

// New makes Letters of a dead letter topic. The caller closes the bus.
func New(b *bus.Bus, topic string, cfg Config) (*Letters, error) {
	switch {
	case b == nil:
		return nil, errors.New("redrive: New: bus is nil; open one with bus.Open")
	case topic == "":
		return nil, errors.New("redrive: New: topic is empty; name the dead letter topic, such as orders.DLT")
	case cfg.Window < 0 || cfg.Window > 0 && cfg.Window < 16:
		return nil, fmt.Errorf("redrive: Window is %d; give at least 16, or 0 for the default 4096", cfg.Window)
	case cfg.Wait < 0:
		return nil, fmt.Errorf("redrive: Wait is %s; give a positive duration, or 0 for the default 15s", cfg.Wait)
	}
	cfg.Window = cmp.Or(cfg.Window, 4096)
	cfg.Wait = cmp.Or(cfg.Wait, 15*time.Second)
	cfg.Group = cmp.Or(cfg.Group, driver.RedriveGroup)
	return &Letters{bus: b, topic: topic, cfg: cfg}, nil
}

// notFound is ErrNotFound for an id; complete says whether all letters could be seen.
func (l *Letters) notFound(id string, complete bool) error {
	if !complete {
		return fmt.Errorf("%w: %s in %s, of which not all could be seen; another pass may hold it", ErrNotFound, id, l.topic)
	}
	return fmt.Errorf("%w: %s in %s", ErrNotFound, id, l.topic)
}
