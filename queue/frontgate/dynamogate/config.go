package dynamogate

import (
	"cmp"
	"fmt"
	"regexp"
	"time"
)

// Config of a store. The zero value works.
type Config struct {
	// Counters is the name of the table of counters; "counters" by default.
	Counters string
	// Positions is the name of the table of the positions given out; "positions" by
	// default.
	Positions string
	// Audit is how long the record of the given positions is kept; 24 h by default.
	// DynamoDB removes older records within some days.
	Audit time.Duration
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

func (c Config) complete() (Config, error) {
	c.Counters = cmp.Or(c.Counters, "counters")
	c.Positions = cmp.Or(c.Positions, "positions")
	c.Audit = cmp.Or(c.Audit, 24*time.Hour)
	for _, n := range [...]struct{ field, name string }{{"Counters", c.Counters}, {"Positions", c.Positions}} {
		if !tableName.MatchString(n.name) {
			return c, fmt.Errorf("dynamogate: Config.%s is %.40q; a table has a name of 3 to 255 letters, digits, dots, hyphens and underscores", n.field, n.name)
		}
	}
	switch {
	case c.Counters == c.Positions:
		return c, fmt.Errorf("dynamogate: Config.Counters and Config.Positions are both %q; they are two tables", c.Counters)
	case c.Audit < time.Second:
		return c, fmt.Errorf("dynamogate: Config.Audit is %s; give at least a second, or 0 for 24 h", c.Audit)
	}
	return c, nil
}
