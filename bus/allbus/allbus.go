// Package allbus is an Opener that knows every transport of Millrace, for
// programs that choose theirs by configuration. It links the drivers of all of
// them; a program that knows what it needs names its schemes to bus.NewOpener
// and links no more than those.
//
//	scheme      package      durable   groups   instances of a group
//	mem://      membus       no        yes      of one process
//	sqlite://   sqlitebus    yes       yes      of one machine
//
//	property                                   proven by
//	it knows these schemes and no others       TestSchemes
//	every one of them opens and delivers       TestEachSchemeDelivers
package allbus

import (
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
)

// Config hands settings to the transports that take some. The zero value works.
type Config struct {
	// SQLite is for sqlite:// URLs, e.g. to share the program's own pool.
	SQLite sqlitebus.Config
}

// NewOpener makes an Opener of all schemes.
func NewOpener(cfg Config) *bus.Opener {
	return bus.NewOpener(
		membus.Scheme(),
		sqlitebus.Scheme(cfg.SQLite),
	)
}
