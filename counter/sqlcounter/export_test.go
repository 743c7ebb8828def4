package sqlcounter

import (
	"context"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
)

// Count counts the reads of a log from now on.
func Count(of driver.SQLLog) *Counted {
	l := of.(*changes)
	c := &Counted{Log: l.log}
	l.log = c
	return c
}

// Counted counts reads.
type Counted struct {
	sqllog.Log
	Reads int
	Cut   bool // the next one ends early, as after an error in the middle
}

func (c *Counted) Read(ctx context.Context, lane int, after log.Position, limit int) ([]log.Entry, log.Position, error) {
	if c.Cut {
		c.Cut, limit = false, 1
	}
	c.Reads++
	return c.Log.Read(ctx, lane, after, limit)
}
