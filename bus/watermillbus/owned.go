package watermillbus

import (
	"sync"

	"github.com/millrace-go/millrace/bus/driver"
)

// owned is a source that the driver closes if its user has not.
type owned struct {
	driver.Source
	driver *adapter

	once sync.Once
	err  error
}

func (d *adapter) own(source driver.Source) (driver.Source, error) {
	s := &owned{Source: source, driver: d}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.open[s] = struct{}{}
	}
	d.mu.Unlock()
	if closed {
		s.Close() //nolint:errcheck // the driver is closed, which says more
		return nil, errClosed
	}
	return s, nil
}

// Close implements [driver.Source].
func (s *owned) Close() error {
	s.once.Do(func() {
		s.err = s.Source.Close()
		s.driver.mu.Lock()
		delete(s.driver.open, s)
		s.driver.mu.Unlock()
	})
	return s.err
}
