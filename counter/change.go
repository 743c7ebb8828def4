package counter

import "github.com/millrace-go/millrace/counter/driver"

// Change is one change row: a row that was created (1) or soft-deleted (-1).
type Change = driver.Change
