package pgbus

import "database/sql"

// closePools closes what was opened here. All that a pool can say then is that a
// connection it kept had died meanwhile: nothing was on it.
func closePools(pools ...*sql.DB) error {
	for _, p := range pools {
		p.Close() //nolint:errcheck // see above
	}
	return nil
}
