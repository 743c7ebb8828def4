package sqlcounter

import (
	"context"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
)

// Reads counts the log's statements of Read from now on.
func Reads(of driver.SQLLog) *int {
	l := of.(*changes)
	c := &counted{Log: l.log}
	l.log = c
	return &c.reads
}

type counted struct {
	sqllog.Log
	reads int
}

func (c *counted) Read(ctx context.Context, lane int, after log.Position, limit int) ([]log.Entry, log.Position, error) {
	c.reads++
	return c.Log.Read(ctx, lane, after, limit)
}
