package logbus

import "database/sql"

// ClosePools closes pools that a transport has opened. All that a pool can say
// then is that a connection it kept had died meanwhile: nothing was on it.
func ClosePools(pools ...*sql.DB) error {
	for _, p := range pools {
		p.Close() //nolint:errcheck // see above
	}
	return nil
}
