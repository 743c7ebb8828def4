package redisbus

// The errors that tests tell apart.
var (
	ErrFull          = errFull
	ErrNotReplicated = errNotReplicated
)
