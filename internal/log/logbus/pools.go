package logbus

import "database/sql"

// ClosePools closes pools that a transport has opened. It ignores their errors: they only report
// that an idle connection had died.
func ClosePools(pools ...*sql.DB) error {
	for _, p := range pools {
		p.Close() //nolint:errcheck // see above
	}
	return nil
}
