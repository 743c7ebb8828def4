package membus

// The errors that tests tell apart.
var (
	ErrFull = errFull
)
